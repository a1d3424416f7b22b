# SPDX-License-Identifier: MIT
# Labels each test with the areas of tests/areas.txt whose regular expression its name matches.
set(HF_AREAS ${CMAKE_CURRENT_LIST_DIR}/areas.txt)
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${HF_AREAS})

# hf_areas_of(<variable> <name>): the areas of a test, or of a program whose tests ctest finds by itself.
function(hf_areas_of variable name)
	set(found)
	file(STRINGS ${HF_AREAS} lines REGEX "^[^#]")
	foreach(line IN LISTS lines)
		if(NOT line MATCHES "^([^ ]+) +[^ ]+ +([^ ]+)$")
			message(FATAL_ERROR "areas.txt: three words are expected: ${line}")
		endif()
		set(area ${CMAKE_MATCH_1})
		set(tests ${CMAKE_MATCH_2})
		if(NOT tests STREQUAL "-" AND name MATCHES "${tests}")
			list(APPEND found ${area})
		endif()
	endforeach()
	set(${variable} ${found} PARENT_SCOPE)
endfunction()

# Labels the tests of this directory; a directory calls it by hf_label_tests(), when all of its tests have been added.
function(hf_label_tests_now)
	get_property(tests DIRECTORY PROPERTY TESTS)
	foreach(test IN LISTS tests)
		hf_areas_of(areas ${test})
		set_property(TEST ${test} APPEND PROPERTY LABELS ${areas})
		if("alone" IN_LIST areas)
			set_property(TEST ${test} PROPERTY RUN_SERIAL ON)
		endif()
		if("long" IN_LIST areas) # ctest begins with them, and the others run beside them
			set_property(TEST ${test} PROPERTY COST 100)
		endif()
	endforeach()
endfunction()
macro(hf_label_tests)
	cmake_language(DEFER CALL hf_label_tests_now)
endmacro()

# Labels the tests of a GoogleTest program, which ctest lists when it runs, or its place holder if it has not been built.
function(hf_label_unit_tests target)
	hf_areas_of(areas ${target})
	set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
	file(WRITE ${file} "if(NOT ${target}_TESTS)\n\tset(${target}_TESTS ${target}_NOT_BUILT)\nendif()\n"
		"set_tests_properties(\${${target}_TESTS} PROPERTIES LABELS \"${areas}\")\n")
	set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

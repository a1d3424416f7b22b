# SPDX-License-Identifier: MIT
# Installs the headers, the libraries, and the files by which CMake and pkg-config find them.
include(CMakePackageConfigHelpers)

set(HF_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	FILES_MATCHING PATTERN "*.h")
install(TARGETS holdfast holdfast_shared EXPORT holdfast)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/share/pthread-to-holdfast.sed
	DESTINATION ${CMAKE_INSTALL_DATADIR}/holdfast)
if(HF_BUILD_EXTERN)
	install(TARGETS holdfast_extern holdfast_extern_shared EXPORT holdfast)
endif()
install(EXPORT holdfast
	NAMESPACE holdfast::
	FILE holdfastTargets.cmake
	DESTINATION ${HF_CMAKE_DIR})

configure_package_config_file(
	${CMAKE_CURRENT_LIST_DIR}/holdfastConfig.cmake.in
	${PROJECT_BINARY_DIR}/holdfastConfig.cmake
	INSTALL_DESTINATION ${HF_CMAKE_DIR})
# Before 1.0 a minor version may change what callers rely on.
write_basic_package_version_file(
	${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES
	${PROJECT_BINARY_DIR}/holdfastConfig.cmake
	${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake
	DESTINATION ${HF_CMAKE_DIR})

# The pkg-config files name the prefix, so they are made during the installation: `cmake --install --prefix` may choose
# another prefix than was configured. A path relative to the .pc file would end up in programs' RUNPATH.
cmake_path(APPEND HF_PC_LIBDIR "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND HF_PC_INCLUDEDIR "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
set(HF_PC_FILES packaging/cmake/holdfast)
if(HF_BUILD_EXTERN)
	list(APPEND HF_PC_FILES bindings/extern/holdfast-extern)
endif()
set(AT @)
foreach(path ${HF_PC_FILES})
	cmake_path(GET path FILENAME file)
	configure_file(${PROJECT_SOURCE_DIR}/${path}.pc.in ${PROJECT_BINARY_DIR}/${file}.pc.in @ONLY)
	install(CODE "
		set(HF_PC_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
		# Programs need a RUNPATH where the loader does not search. It is left out elsewhere: glibc refuses to start a
		# static PIE that has one.
		set(HF_PC_RPATH \"-Wl,-rpath,\\\${libdir} \")
		execute_process(COMMAND /sbin/ldconfig -v -N -X OUTPUT_VARIABLE folders ERROR_QUIET)
		string(FIND \"\n\${folders}\" \"\n\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}:\" found)
		if(HF_PC_PREFIX STREQUAL \"/usr\" OR NOT found EQUAL -1)
			set(HF_PC_RPATH \"\")
		endif()
		configure_file(\"${PROJECT_BINARY_DIR}/${file}.pc.in\" \"${PROJECT_BINARY_DIR}/${file}.pc\" @ONLY)
		file(INSTALL \"${PROJECT_BINARY_DIR}/${file}.pc\"
			DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")")
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual pages of section 3, if the release's archive has them, or `make docs` has made them.
set(docs build/docs)
if(EXISTS ${PROJECT_SOURCE_DIR}/docs/man/man3 AND NOT EXISTS ${PROJECT_SOURCE_DIR}/build/docs/man/man3)
	set(docs docs)
endif()
set(HOLDFAST_DOCS_DIR ${PROJECT_SOURCE_DIR}/${docs} CACHE PATH "The folder in which `make docs` wrote the manual")
install(DIRECTORY ${HOLDFAST_DOCS_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
# Writes a list of the installed files for each prefix, which uninstall.cmake reads. A subproject has no list: its
# files are removed by the project that installs them.
if(top_level)
	install(CODE "
		string(SHA256 name \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
		list(JOIN CMAKE_INSTALL_MANIFEST_FILES \"\\n\" list)
		file(WRITE \"${PROJECT_BINARY_DIR}/installed/\${name}\" \"\${list}\\n\")")
endif()

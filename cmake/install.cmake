# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: headers, both libraries, and what CMake and pkg-config need to
# find them.
include(CMakePackageConfigHelpers)

set(HF_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
	FILES_MATCHING PATTERN "*.h")
install(TARGETS holdfast holdfast_shared EXPORT holdfast)
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

# The prefix is told relative to holdfast.pc itself: `cmake --install --prefix` may choose another.
file(RELATIVE_PATH HF_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" HF_PC_UP ${HF_PC_UP})
cmake_path(APPEND HF_PC_LIBDIR "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND HF_PC_INCLUDEDIR "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
# The loader looks into /usr by itself, and elsewhere only where it has been told to: programs are.
set(HF_PC_RPATH "-Wl,-rpath,\${libdir} ")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
	set(HF_PC_RPATH "")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(HF_BUILD_EXTERN)
	configure_file(${CMAKE_CURRENT_LIST_DIR}/holdfast-extern.pc.in
		${PROJECT_BINARY_DIR}/holdfast-extern.pc @ONLY)
	install(FILES ${PROJECT_BINARY_DIR}/holdfast-extern.pc
		DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual's pages of section 3, if `make docs` has made them.
set(HOLDFAST_DOCS_DIR ${PROJECT_SOURCE_DIR}/build/docs CACHE PATH "Where `make docs` has left the manual")
install(DIRECTORY ${HOLDFAST_DOCS_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
# For cmake/uninstall.cmake: what was installed, one list a prefix. A part of somebody's project leaves
# that to the project.
if(top_level)
	install(CODE "
		string(SHA256 name \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
		list(JOIN CMAKE_INSTALL_MANIFEST_FILES \"\\n\" list)
		file(WRITE \"${PROJECT_BINARY_DIR}/installed/\${name}\" \"\${list}\\n\")")
endif()

# SPDX-License-Identifier: MIT
# An overlay port, which builds the tree that it is in: vcpkg install holdfast --overlay-ports=holdfast/packaging/vcpkg
# The package has both libraries, as two targets, whatever the triplet's linkage is.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(
	SOURCE_PATH "${SOURCE_PATH}"
	OPTIONS
		-DHOLDFAST_BUILD_TESTS=OFF
		-DHOLDFAST_BUILD_EXAMPLES=OFF
		-DHOLDFAST_BUILD_LAB=OFF
		-DHOLDFAST_BUILD_TMPFS=OFF
		-DHOLDFAST_BUILD_TOOLS=OFF
		-DHOLDFAST_BUILD_EXTERN=OFF
		-DHOLDFAST_INSTALL=ON)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/holdfast)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
	"${CURRENT_PACKAGES_DIR}/debug/include"
	"${CURRENT_PACKAGES_DIR}/debug/share"
	"${CURRENT_PACKAGES_DIR}/share/doc")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")

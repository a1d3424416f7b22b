# SPDX-License-Identifier: MIT
# cmake -DPREFIX=DIR [-DBUILD=DIR] -P packaging/cmake/uninstall.cmake - remove the files that the last installation into PREFIX
# installed.
#
# install.cmake writes a list of the files into the build folder, one list for each prefix. Folders named holdfast, folders
# in them, and those below share/gdb, which few packages use, are removed if they are empty.
cmake_minimum_required(VERSION 3.20)

if(NOT PREFIX)
	message(FATAL_ERROR "usage: cmake -DPREFIX=DIR [-DBUILD=DIR] -P uninstall.cmake")
endif()
if(NOT BUILD)
	cmake_path(SET BUILD NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../build/release)
endif()
string(SHA256 name "$ENV{DESTDIR}${PREFIX}")
set(list ${BUILD}/installed/${name})
if(NOT EXISTS ${list})
	message(FATAL_ERROR "No installation into $ENV{DESTDIR}${PREFIX} is known: ${list} does not exist")
endif()

file(STRINGS ${list} files)
set(folders)
foreach(file IN LISTS files)
	set(file $ENV{DESTDIR}${file})
	if(EXISTS ${file} OR IS_SYMLINK ${file})
		message(STATUS "Removing: ${file}")
		file(REMOVE ${file})
	else()
		message(STATUS "Already removed: ${file}")
	endif()
	cmake_path(GET file PARENT_PATH folder)
	while(folder MATCHES "/(holdfast|share/gdb)(/|$)")
		list(APPEND folders ${folder})
		cmake_path(GET folder PARENT_PATH folder)
	endwhile()
endforeach()
# The deepest folders come first.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
	file(GLOB rest LIST_DIRECTORIES true ${folder}/* ${folder}/.*)
	if(IS_DIRECTORY ${folder} AND NOT rest)
		file(REMOVE_RECURSE ${folder})
	endif()
endforeach()
file(REMOVE ${list})

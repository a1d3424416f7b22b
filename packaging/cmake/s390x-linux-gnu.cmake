# SPDX-License-Identifier: MIT
# Debian's cross compiler for s390x, which is big-endian. The presets name the emulator that runs the
# tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER s390x-linux-gnu-g++)

# Only the unit tests are C++, and compiling them took most of this stage's time; -O1 halves it. The
# library and the battery are C, and optimised as on other processors.
set(CMAKE_CXX_FLAGS_RELEASE "-O1" CACHE STRING "")

set(CMAKE_FIND_ROOT_PATH /usr/s390x-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

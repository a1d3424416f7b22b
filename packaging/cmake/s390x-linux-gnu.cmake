# SPDX-License-Identifier: MIT
# A big-endian processor. Only the unit tests are C++, and compiling them took most of this stage's time; -O1 halves it. The library
# and the battery are C, and optimised as on other processors.
set(CMAKE_CXX_FLAGS_RELEASE "-O1" CACHE STRING "")
set(HF_CPU s390x)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)

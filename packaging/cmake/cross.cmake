# SPDX-License-Identifier: MIT
# Debian's cross compiler for the processor HF_CPU: the toolchain files include this. The presets name the emulator that runs the
# tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${HF_CPU})
set(CMAKE_C_COMPILER ${HF_CPU}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${HF_CPU}-linux-gnu-g++)

set(CMAKE_FIND_ROOT_PATH /usr/${HF_CPU}-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

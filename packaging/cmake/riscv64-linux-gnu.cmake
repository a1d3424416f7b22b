# SPDX-License-Identifier: MIT
set(HF_CPU riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)

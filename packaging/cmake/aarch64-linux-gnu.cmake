# SPDX-License-Identifier: MIT
set(HF_CPU aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)

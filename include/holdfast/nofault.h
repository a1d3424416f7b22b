/* SPDX-License-Identifier: MIT */
#ifndef HF_NOFAULT_H
#define HF_NOFAULT_H
#pragma GCC system_header
/*
 * nofault - access memory that may fault: all headers of the family, in one line.
 *
 * Use when / not when
 *   In a program that uses several of them. In a header of your own, include only what it needs:
 *   nofault_handler.h    hf_nofault_install() once, early; hf_nofault_check()
 *   nofault_copy.h       hf_clear_nofault, hf_copy_nofault, hf_strncpy_nofault
 *   nofault_word.h       hf_load32_nofault, hf_store32_nofault, hf_cmpxchg32_nofault, ...
 *   nofault_memory.h     hf_fill_, hf_move_, hf_compare_, hf_find_nofault, lists of ranges, words
 *   safe.h               hf_copy_safe, hf_load32_safe: in crash handlers
 *
 * Example  examples/nofault.c, examples/nofault_scan.c, examples/region.c
 */
#include "nofault_copy.h"
#include "nofault_handler.h"
#include "nofault_memory.h"
#include "nofault_word.h"
#include "safe.h"

#endif

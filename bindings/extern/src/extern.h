/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_EXTERN_EXTERN_H
#define HF_SRC_EXTERN_EXTERN_H
/*
 * extern - makes symbols of the inline functions of the headers included after this one.
 *
 * Each .c file of this folder includes the headers that its header needs, then this one, then its
 * header. So each function becomes a symbol of exactly one object file, with its own name and
 * signature, and no list of functions is needed. `extern inline` emits a definition that other
 * files can call, while calls within the file are still inlined.
 *
 * extern.map hides private names in the shared library. tests/ compares the symbols with the
 * declarations in the headers.
 */
#include "holdfast/internal/compiler.h"

#undef HF_INLINE
#define HF_INLINE extern inline HF_API __attribute__((always_inline))

#endif

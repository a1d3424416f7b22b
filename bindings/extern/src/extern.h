/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_EXTERN_EXTERN_H
#define HF_SRC_EXTERN_EXTERN_H
/*
 * extern - from here on an inline function of a header is a symbol, too.
 *
 * A file of this folder includes first what its header is built on, then this, then the header. So
 * each function is a symbol of one object file, under its own name and with its own signature: there is
 * no list to keep. An `extern inline` function has one definition that all may call, and is inlined
 * in those that this file makes of it: a symbol has no call in it that the function would not have.
 *
 * extern.map keeps what is private in the shared library. tests/ compares the symbols with
 * what the headers declare.
 */
#include "holdfast/internal/compiler.h"

#undef HF_INLINE
#define HF_INLINE extern inline HF_API __attribute__((always_inline))

#endif

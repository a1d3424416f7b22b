/* SPDX-License-Identifier: MIT */
#ifndef HF_MODEL_RL_H
#define HF_MODEL_RL_H
/*
 * rl - Relacy, without the macros that it defines.
 *
 * Relacy defines new, delete, assert, $ and others as macros, which would change every header
 * included later; this header undefines them. Include it (or backend.h) before any other header:
 * Relacy turns off _FORTIFY_SOURCE, which rejects its jumps between stacks.
 */
#include <relacy/relacy.hpp>

#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef VAR
#undef VAR_T
#undef TLS_T
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef $

/* The caller's location: as a default argument, this is the line in the header under test. */
#define HF_MODEL_HERE rl::debug_info(__builtin_FUNCTION(), __builtin_FILE(), __builtin_LINE())

namespace hf_model
{

typedef rl::debug_info where;

/* Ends this interleaving as a failure unless ok. */
inline void check(bool ok, const char *text, const where &at = HF_MODEL_HERE)
{
	if (!ok)
		rl::ctx().fail_test(text, rl::test_result_user_assert_failed, at);
}

/* Plain shared data: a race on it is an error. */
typedef rl::var<int> plain;

inline int get(const plain &v, const where &at = HF_MODEL_HERE)
{
	return v(at).load();
}

inline void set(plain &v, int value, const where &at = HF_MODEL_HERE)
{
	v(at).store(value);
}

inline void increment(plain &v, const where &at = HF_MODEL_HERE)
{
	set(v, get(v, at) + 1, at);
}

} // namespace hf_model

#endif

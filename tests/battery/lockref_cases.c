/* SPDX-License-Identifier: MIT */
/* lockref_cases - lockref_cases.h for each implementation. */
#include "battery.h"
#include "holdfast/lockref.h"

#define V(verb) hf_lockref_unbounded_##verb
#define CASE(name) lockref_unbounded_##name
#define SUITE "lockref.unbounded"
#define ALWAYS_LOCKS 0
#include "lockref_cases.h"

#define V(verb) hf_lockref_bounded_##verb
#define CASE(name) lockref_bounded_##name
#define SUITE "lockref.bounded"
#define ALWAYS_LOCKS 0
#include "lockref_cases.h"

#define V(verb) hf_lockref_locked_##verb
#define CASE(name) lockref_locked_##name
#define SUITE "lockref.locked"
#define ALWAYS_LOCKS 1
#include "lockref_cases.h"

/* The default may be any of them: ask what its name expands to. */
#define IS_unbounded 0
#define IS_bounded 0
#define IS_locked 1
#define IS_NAMED_(name) IS_##name
#define IS_NAMED(name) IS_NAMED_(name)
#define DEFAULT_ALWAYS_LOCKS IS_NAMED(HF_LOCKREF_DEFAULT)

#define V(verb) hf_lockref_##verb
#define CASE(name) lockref_default_##name
#define SUITE "lockref.default"
#define ALWAYS_LOCKS DEFAULT_ALWAYS_LOCKS
#include "lockref_cases.h"

/* SPDX-License-Identifier: MIT */
/* spinlock_cases - spinlock_cases.h for each implementation. */
#include "battery.h"
#include "holdfast/spinlock.h"

#define V(verb) hf_spinlock_cas_##verb
#define CASE(name) spinlock_cas_##name
#define SUITE "spinlock.cas"
#define INIT HF_SPINLOCK_CAS_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(cas, lock)
#define SIZE 4
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_cas_release_##verb
#define CASE(name) spinlock_cas_release_##name
#define SUITE "spinlock.cas_release"
#define INIT HF_SPINLOCK_CAS_RELEASE_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(cas_release, lock)
#define SIZE 4
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_cas_prefetch_##verb
#define CASE(name) spinlock_cas_prefetch_##name
#define SUITE "spinlock.cas_prefetch"
#define INIT HF_SPINLOCK_CAS_PREFETCH_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(cas_prefetch, lock)
#define SIZE 4
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_wfe_##verb
#define CASE(name) spinlock_wfe_##name
#define SUITE "spinlock.wfe"
#define INIT HF_SPINLOCK_WFE_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(wfe, lock)
#define SIZE 4
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_ticket_##verb
#define CASE(name) spinlock_ticket_##name
#define SUITE "spinlock.ticket"
#define INIT HF_SPINLOCK_TICKET_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(ticket, lock)
#define SIZE 8
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_mcs_##verb
#define CASE(name) spinlock_mcs_##name
#define SUITE "spinlock.mcs"
#define INIT HF_SPINLOCK_MCS_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(mcs, lock)
#define SIZE 12
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_queued_##verb
#define CASE(name) spinlock_queued_##name
#define SUITE "spinlock.queued"
#define INIT HF_SPINLOCK_QUEUED_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD_OF(queued, lock)
#define SIZE 4
#include "spinlock_cases.h"

#define V(verb) hf_spinlock_##verb
#define CASE(name) spinlock_default_##name
#define SUITE "spinlock.default"
#define INIT HF_SPINLOCK_INIT
#define GUARD(lock) HF_SPINLOCK_GUARD(lock)
#define SIZE 0
#include "spinlock_cases.h"

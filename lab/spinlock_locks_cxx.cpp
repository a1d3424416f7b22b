/* SPDX-License-Identifier: MIT */
/* spinlock_locks_cxx - the locks that are C++: oneTBB's and Abseil's. */
#include "spinlock_locks.h"

#include <new>

#include "holdfast/arch.h"

#if HF_LAB_HAVE_TBB
#include <tbb/queuing_mutex.h>
#include <tbb/spin_mutex.h>
#endif
#if HF_LAB_HAVE_ABSL
#include <absl/synchronization/mutex.h>
#endif

#if HF_LAB_HAVE_TBB
#define LOCK tbb_spin_mutex
#define LOCK_T tbb::spin_mutex
#define LOCK_NODE char
#define LOCK_INIT(l) new (l) tbb::spin_mutex
#define LOCK_IN(l, n) ((void)(n), (l)->lock())
#define LOCK_OUT(l, n) ((void)(n), (l)->unlock())
#include "spinlock_loops.h"

#define LOCK tbb_queuing_mutex
#define LOCK_T tbb::queuing_mutex
#define LOCK_NODE tbb::queuing_mutex::scoped_lock
#define LOCK_INIT(l) new (l) tbb::queuing_mutex
#define LOCK_IN(l, n) (n)->acquire(*(l))
#define LOCK_OUT(l, n) ((void)(l), (n)->release())
#include "spinlock_loops.h"
#endif

#if HF_LAB_HAVE_ABSL
#define LOCK absl_mutex
#define LOCK_T absl::Mutex
#define LOCK_NODE char
#define LOCK_INIT(l) new (l) absl::Mutex
#define LOCK_IN(l, n) ((void)(n), (l)->Lock())
#define LOCK_OUT(l, n) ((void)(n), (l)->Unlock())
#include "spinlock_loops.h"
#endif

#define PEER(name)                                                                                 \
	{                                                                                          \
		"peer:" #name, "peer", nullptr, nullptr, init_##name, alone_##name,                \
			contended_##name, split_##name                                             \
	}

extern "C" const struct lab_lock lab_locks_cxx[] = {
#if HF_LAB_HAVE_TBB
	PEER(tbb_spin_mutex),
	PEER(tbb_queuing_mutex),
#endif
#if HF_LAB_HAVE_ABSL
	PEER(absl_mutex),
#endif
	{ nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr },
};

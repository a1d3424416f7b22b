/* SPDX-License-Identifier: MIT */
/* extern/refcount_lock - the functions as symbols: the last reference and a lock. extern.h says how. */
#include <pthread.h>

#include "holdfast/refcount.h"
#include "holdfast/spinlock.h"

#include "extern.h"

#include "holdfast/refcount_lock.h"

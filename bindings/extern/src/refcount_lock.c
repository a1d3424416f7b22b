/* SPDX-License-Identifier: MIT */
/* extern/refcount_lock - dropping the last reference under a lock, as symbols: see extern.h. */
#include <pthread.h>

#include "holdfast/refcount.h"
#include "holdfast/spinlock.h"

#include "extern.h"

#include "holdfast/refcount_lock.h"

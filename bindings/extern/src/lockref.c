/* SPDX-License-Identifier: MIT */
/* extern/lockref - lockrefs as symbols: see extern.h. */
#include "holdfast/mutex.h"
#include "holdfast/report.h"
#include "holdfast/spinlock.h"

#include "extern.h"

#include "holdfast/lockref_waitfree.h"

/* SPDX-License-Identifier: MIT */
/* extern/lockref - the functions as symbols: lockrefs. extern.h says how. */
#include "holdfast/mutex.h"
#include "holdfast/report.h"
#include "holdfast/spinlock.h"

#include "extern.h"

#include "holdfast/lockref_waitfree.h"

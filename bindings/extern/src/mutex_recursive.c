/* SPDX-License-Identifier: MIT */
/* extern/mutex_recursive - recursive mutexes as symbols: see extern.h. */
#include "holdfast/cond.h"

#include "extern.h"

#include "holdfast/mutex_recursive.h"

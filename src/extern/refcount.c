/* SPDX-License-Identifier: MIT */
/* extern/refcount - the verbs as symbols: counts, of each implementation. extern.h says how. */
#include "holdfast/atomic.h"
#include "holdfast/report.h"
#include "holdfast/wait.h"

#include "extern.h"

#include "holdfast/refcount.h"

/* SPDX-License-Identifier: MIT */
/* extern/refcount - the functions as symbols: counts. extern.h says how. */
#include "holdfast/internal/atomic.h"
#include "holdfast/report.h"
#include "holdfast/internal/wait.h"

#include "extern.h"

#include "holdfast/refcount.h"

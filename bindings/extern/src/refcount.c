/* SPDX-License-Identifier: MIT */
/* extern/refcount - reference counts as symbols: see extern.h. */
#include "holdfast/internal/atomic.h"
#include "holdfast/report.h"
#include "holdfast/internal/wait.h"

#include "extern.h"

#include "holdfast/refcount.h"

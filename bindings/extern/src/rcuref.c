/* SPDX-License-Identifier: MIT */
/* extern/rcuref - rcuref as symbols: see extern.h. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"

#include "extern.h"

#include "holdfast/rcuref.h"

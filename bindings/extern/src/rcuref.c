/* SPDX-License-Identifier: MIT */
/* extern/rcuref - the functions as symbols: rcuref. extern.h says how. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"

#include "extern.h"

#include "holdfast/rcuref.h"

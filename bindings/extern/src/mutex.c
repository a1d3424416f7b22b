/* SPDX-License-Identifier: MIT */
/* extern/mutex - the functions as symbols: mutexes. extern.h says how. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"

#include "extern.h"

#include "holdfast/mutex.h"

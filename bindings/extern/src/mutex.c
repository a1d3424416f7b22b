/* SPDX-License-Identifier: MIT */
/* extern/mutex - mutexes as symbols: see extern.h. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"

#include "extern.h"

#include "holdfast/mutex.h"

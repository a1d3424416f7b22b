/* SPDX-License-Identifier: MIT */
/* extern/rwlock - reader-writer locks as symbols: see extern.h. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"

#include "extern.h"

#include "holdfast/rwlock.h"

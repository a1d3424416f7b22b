/* SPDX-License-Identifier: MIT */
/* extern/cond - condition variables as symbols: see extern.h. */
#include "holdfast/mutex.h"

#include "extern.h"

#include "holdfast/cond.h"

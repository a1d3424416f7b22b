/* SPDX-License-Identifier: MIT */
/* extern/cond - the functions as symbols: condition variables. extern.h says how. */
#include "holdfast/mutex.h"

#include "extern.h"

#include "holdfast/cond.h"

/* SPDX-License-Identifier: MIT */
/* extern/spinlock - the functions as symbols: spinlocks. extern.h says how. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"
#include "holdfast/internal/wait.h"

#include "extern.h"

#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

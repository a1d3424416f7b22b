/* SPDX-License-Identifier: MIT */
/* extern/spinlock - spinlocks as symbols: see extern.h. */
#include "holdfast/internal/atomic.h"
#include "holdfast/validate.h"
#include "holdfast/internal/wait.h"

#include "extern.h"

#include "holdfast/spinlock.h"
#include "holdfast/spinlock_ticket.h"

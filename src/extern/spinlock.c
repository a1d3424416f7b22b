/* SPDX-License-Identifier: MIT */
/* extern/spinlock - the verbs as symbols: spinlocks, of each implementation. extern.h says how. */
#include "holdfast/validate.h"
#include "holdfast/internal/wait.h"
#include "holdfast/spinlock/node.h"

#include "extern.h"

#include "holdfast/spinlock.h"

/* SPDX-License-Identifier: MIT */
/* extern/nofault - the functions as symbols: memory that may fault. extern.h says how. */
#include "holdfast/internal/arch_nofault.h"
#include "holdfast/internal/atomic.h"
#include "holdfast/internal/nofault/sanitize.h"

#include "extern.h"

#include "holdfast/nofault.h"

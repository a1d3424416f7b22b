/* SPDX-License-Identifier: MIT */
/* extern/nofault - access to memory that may fault, as symbols: see extern.h. */
#include "holdfast/internal/arch_access.h"
#include "holdfast/internal/atomic.h"
#include "holdfast/internal/nofault/sanitize.h"

#include "extern.h"

#include "holdfast/nofault.h"

/* SPDX-License-Identifier: MIT */
/* extern/nofault - the verbs as symbols: memory that may fault. extern.h says how. */
#include "holdfast/arch_nofault.h"
#include "holdfast/atomic.h"
#include "holdfast/nofault/sanitize.h"

#include "extern.h"

#include "holdfast/nofault.h"

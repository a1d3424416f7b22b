/* SPDX-License-Identifier: MIT */
/* extern/safe - the verbs as symbols: reading where no fault can be taken. extern.h says how. */
#include "holdfast/nofault.h"

#include "extern.h"

#include "holdfast/safe.h"

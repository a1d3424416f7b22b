// SPDX-License-Identifier: MIT
// discarded - does not compile with -Werror: a guard that is a temporary guards nothing.
#include <holdfast/region.h>

void guarded(const void *);

void discards(const void *p, size_t len)
{
	hf::region(p, len);
	guarded(p);
}

/* SPDX-License-Identifier: MIT */
/* none - for run.py: includes nofault.h, but has no sites of its own. */
#include <holdfast/nofault.h>

int main(void)
{
	return hf_nofault_install();
}

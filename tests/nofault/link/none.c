/* SPDX-License-Identifier: MIT */
/* none - for run.py: a program that includes nofault.h, and has no site. */
#include <holdfast/nofault.h>

int main(void)
{
	return hf_nofault_install();
}

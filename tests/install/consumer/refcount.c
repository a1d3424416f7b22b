/* SPDX-License-Identifier: MIT */
/* refcount - a program that uses one reference count and nothing else. */
#include <holdfast/refcount.h>

int main(int argc, char **argv)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	(void)argv;
	while (argc--)
		hf_refcount_inc(&r);
	return hf_refcount_read(&r) > 99;
}

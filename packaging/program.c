/* SPDX-License-Identifier: MIT */
/*
 * program - tests a package: reference count, mutex, recovery from a fault, and that headers and
 * library have the version in the argument, which is the package's.
 */
#include <stdio.h>
#include <string.h>

#include <holdfast/mutex.h>
#include <holdfast/nofault.h>
#include <holdfast/refcount.h>
#include <holdfast/version.h>

int main(int argc, char **argv)
{
	hf_refcount_t count = HF_REFCOUNT_INIT(1);
	hf_mutex_t lock = HF_MUTEX_INIT;
	char bytes[8];

	if (strcmp(hf_version(), HF_VERSION) != 0 || argc != 2 ||
	    strcmp(argv[1], HF_VERSION) != 0) {
		fprintf(stderr, "headers %s, library %s, package %s\n", HF_VERSION, hf_version(),
			argc == 2 ? argv[1] : "not named");
		return 1;
	}
	hf_refcount_inc(&count);
	hf_mutex_lock(&lock);
	if (hf_refcount_dec_and_test(&count))
		return 1;
	hf_mutex_unlock(&lock);
	if (hf_nofault_install() != 0 || hf_copy_nofault(bytes, (const void *)16, 8) != 8)
		return 1;
	printf("holdfast %s\n", hf_version());
	return hf_refcount_dec_and_test(&count) ? 0 : 1;
}

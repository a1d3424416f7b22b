/* SPDX-License-Identifier: MIT */
/*
 * tsan - what ThreadSanitizer is told in a program that uses tmpfs. rcu.h has the rest.
 *
 * liburcu allocates and frees on its own account, ordered by what the sanitizer can't see: what its
 * interceptors see is left out if liburcu itself made the call. Our code, callbacks included, is
 * watched.
 *
 * Two directories are locked in the order in which they lie in the tree, and a rename may change that
 * (L2 in docs/design/0012-tmpfs.md): to the sanitizer that is an inversion. So it does not look for
 * any.
 */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_options(void);

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:liburcu-bp.so\n"
	       "called_from_lib:liburcu-common.so\n";
}

__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
	return "detect_deadlocks=0";
}

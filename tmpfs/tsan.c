/* SPDX-License-Identifier: MIT */
/*
 * tsan - ThreadSanitizer's options for programs that use tmpfs. The annotations are in rcu.h.
 *
 * liburcu orders its own allocations and frees by means that the sanitizer can't see, so
 * intercepted calls that liburcu makes are ignored. Our code is checked.
 *
 * Two directories are locked in their order in the tree, which a rename may change (L2 in
 * docs/design/0012-tmpfs.md). The sanitizer would report that as a lock inversion, so its deadlock
 * detection is off.
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

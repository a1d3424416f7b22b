/* SPDX-License-Identifier: MIT */
/*
 * run_open - dlopen() without RTLD_DEEPBIND. With it the loader looks for an object's symbols in
 * the object and in what that needs first, so it would bind the object's calls to glibc's mutexes,
 * and the program's to ours: neither would exclude the other.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "run.h"

static HF_RUN_COLD void report(const char *file)
{
	(void)dprintf(STDERR_FILENO,
		      "hf-run: %s: opened without RTLD_DEEPBIND, with which it would have glibc's "
		      "mutexes\n",
		      file ? file : "the program");
}

/*
 * The loader looks into the RUNPATH of the object that calls dlopen(), which it knows by the return
 * address. So the last call must be a jump, which leaves our caller's.
 */
#if !defined(__clang__)
__attribute__((optimize("O2")))
#endif
HF_RUN_EXPORT void *
dlopen(const char *file, int mode)
{
	if (HF_UNLIKELY(mode & RTLD_DEEPBIND))
		report(file);
	return hf_run_real()->dlopen(file, mode & ~RTLD_DEEPBIND);
}

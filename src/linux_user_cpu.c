/* SPDX-License-Identifier: MIT */
/*
 * linux_user_cpu - cpu.c, and the features that the environment hides. One object: a program that
 * asks for a feature is linked with what hides it.
 */
#include "cpu.c"

#include <stdlib.h>

void hf__env_hide_features(void)
{
	static const char variable[] = "HOLDFAST_CPU_WITHOUT";
	static bool done;
	const char *value = getenv(variable);

	if (value && !done && !hf__cpu_hide(value))
		hf__env_complain(variable, value,
				 ": not all of these are known; see holdfast/cpu.h\n");
	done = true;
}

__attribute__((constructor(101))) static void start(void)
{
	hf__env_hide_features();
}

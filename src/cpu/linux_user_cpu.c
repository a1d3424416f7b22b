/* SPDX-License-Identifier: MIT */
/* linux_user_cpu - Linux user space: hides the features that HOLDFAST_CPU_WITHOUT names. */
#include <stdlib.h>

#include "cpu.h"
#include "../env/env.h"

void hf_detail_env_hide_features(void)
{
	static const char variable[] = "HOLDFAST_CPU_WITHOUT";
	static bool done;
	const char *value = getenv(variable);

	if (value && !done && !hf_detail_cpu_hide(value))
		hf_detail_env_warn(
			variable, value,
			": not all of these are known; see holdfast/internal/cpu_feature.h\n");
	done = true;
}

__attribute__((constructor(101))) static void start_cpu(void)
{
	hf_detail_env_hide_features();
}

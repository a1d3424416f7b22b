/* SPDX-License-Identifier: MIT */
/* choose - Linux user space: the choice of clear and copy, when the library is loaded. */
#include "../env/env.h"
#include "nofault.h"

__attribute__((constructor(101))) static void start_choose(void)
{
	hf_detail_env_hide_features(); /* before the choice */
	hf_detail_nofault_start();
	hf_detail_nofault_await_first();
}

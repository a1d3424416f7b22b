/* SPDX-License-Identifier: MIT */
/* version - of the library, as it was compiled. */
#include "holdfast/version.h"

const char *hf_version(void)
{
	return HF_VERSION;
}

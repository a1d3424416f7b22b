/* SPDX-License-Identifier: MIT */
/* profile_plug - a plug-in with a copy of the library of its own: see profile.c. */
#include "holdfast/mutex.h"

#include "profile.h"

__attribute__((visibility("default"))) plug_t plug_contend;

void *plug_contend(void *mutex)
{
	hf_mutex_lock((hf_mutex_t *)mutex);
	hf_mutex_unlock((hf_mutex_t *)mutex);
	return mutex;
}

/* SPDX-License-Identifier: MIT */
/*
 * profile_host - a program without the library that loads a plug-in with it: run by profile.py.
 *
 *   profile_host PLUGIN      prints "before" and "after" to standard error around the unloading
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "profile.h"

int main(int argc, char **argv)
{
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	plug_t *contend = plugin ? (plug_t *)(uintptr_t)dlsym(plugin, "plug_contend") : NULL;
	unsigned int word = 0;

	if (!contend)
		return 1;
	(void)contend(&word);
	fprintf(stderr, "before\n");
	(void)dlclose(plugin);
	fprintf(stderr, "after\n");
	return word != 0;
}

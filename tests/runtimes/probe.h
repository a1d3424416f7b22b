/* SPDX-License-Identifier: MIT */
/* probe - declares probe.c's functions for cgo, which passes memory for a struct probe. */
int probe_install(void);
int probe_all(void);
int probe_begin(void *probe);
void probe_cut(void *probe);
int probe_end(void *probe);
unsigned long probe_map_offset(void);

/* SPDX-License-Identifier: MIT */
/* probe - for cgo: probe.c's functions. A struct probe is some memory here. */
int probe_install(void);
int probe_all(void);
int probe_begin(void *probe);
void probe_cut(void *probe);
int probe_end(void *probe);
unsigned long probe_map_offset(void);

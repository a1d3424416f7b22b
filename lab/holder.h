/* SPDX-License-Identifier: MIT */
#ifndef HF_LAB_HOLDER_H
#define HF_LAB_HOLDER_H
/* holder - what holder_loops.c gives for one lock half, and what it needs. */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HOLDER_BATCH = 64 }; /* pairs for each reference that is left behind */

/* One kind of lockref, with that lock half; `ref` points to 8 bytes in a line of their own. */
struct holder_kind {
	const char *name;
	void (*init)(void *ref);
	int32_t (*read)(void *ref);
	void (*lock)(void *ref);
	void (*unlock)(void *ref);
	/* Get and put until *stop; returns the pairs, or 0 if a put found the last reference. */
	uint64_t (*pairs)(void *ref, const int *stop);
};

struct holder_half {
	const struct holder_kind *kinds;
	unsigned int count;
};

extern const struct holder_half lab_holder_mutex, lab_holder_queued;

#ifdef __cplusplus
}
#endif

#endif

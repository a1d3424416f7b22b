/* SPDX-License-Identifier: MIT */
#ifndef HF_SRC_NOFAULT_SITES_H
#define HF_SRC_NOFAULT_SITES_H
/* sites - the table of the instructions that may fault, for the handler. */
#include "holdfast/nofault.h"

#pragma GCC visibility push(hidden)

/* Returns where to continue after a fault at @pc; 0 = not a site. Async-signal-safe. */
uintptr_t hf_detail_sites_find(uintptr_t pc);

/* Does the object that this copy of the library is in stay loaded until the process ends? */
bool hf_detail_sites_stay(void);

/* At the end: removes the object's own sites; and frees the tables, when no handler can run. */
void hf_detail_sites_leave(void);
void hf_detail_sites_free(void);

#pragma GCC visibility pop

#endif

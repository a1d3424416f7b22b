/* SPDX-License-Identifier: MIT */
#ifndef CODEGEN_OWNERS_H
#define CODEGEN_OWNERS_H

/* Two pointers that may own a reference of an object, which begins with its hf_refcount_t. */
struct owners {
	void *first, *second;
};

#ifdef __cplusplus
extern "C" {
#endif

void owner_copy_default(void *pair); /* second = first; second is raw memory before */
void owner_move_default(void *pair); /* the same, and first is then empty */
void owner_move_back(void *pair);
void owner_drop_default(void *pair);      /* ends the life of second */
void owner_drop_last_default(void *pair); /* of first */
void object_free(void *object);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef CODEGEN_OWNERS_H
#define CODEGEN_OWNERS_H

/* Two pointers that may own a reference to an object, which begins with its hf_refcount_t. */
struct owners {
	void *first, *second;
};

#ifdef __cplusplus
extern "C" {
#endif

void owner_copy_default(void *pair); /* constructs second from first */
void owner_move_default(void *pair); /* the same, and first becomes null */
void owner_move_back(void *pair);
void owner_drop_default(void *pair);      /* destroys second */
void owner_drop_last_default(void *pair); /* destroys first */
void object_free(void *object);

#ifdef __cplusplus
}
#endif

#endif

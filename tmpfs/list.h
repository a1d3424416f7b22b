/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_LIST_H
#define HF_TMPFS_LIST_H
/* list - doubly linked lists with embedded links, and the object that contains a member. */
#include <stddef.h>

#define TMPFS_OBJECT(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

struct tmpfs_list {
	struct tmpfs_list *next, *previous;
};

static inline void tmpfs_list_init(struct tmpfs_list *list)
{
	list->next = list->previous = list;
}

static inline void tmpfs_list_add_last(struct tmpfs_list *list, struct tmpfs_list *entry)
{
	entry->previous = list->previous;
	entry->next = list;
	list->previous->next = entry;
	list->previous = entry;
}

static inline void tmpfs_list_remove(struct tmpfs_list *entry)
{
	entry->previous->next = entry->next;
	entry->next->previous = entry->previous;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * xattr - extended attributes: few and small, so a list, under the inode's mutex.
 *
 * An inode's attributes together count as pages, as if they were stored in a file: xattr_bytes,
 * rounded up. Setting an attribute allocates a new object, which replaces the old one when nothing
 * can fail any more.
 */
#include <errno.h>
#include <string.h>

#include "holdfast/nofault.h"

#include "inode.h"

#define PREFIX "user."

static struct tmpfs_xattr *as_xattr(struct tmpfs_block *block)
{
	return TMPFS_OBJECT(block, struct tmpfs_xattr, block);
}

/* Checks a name, in Linux's order; `denied` is the error for file types without attributes. */
static int check_name(const struct tmpfs_inode *inode, const char *name, int denied)
{
	size_t length = strnlen(name, HF_TMPFS_XATTR_NAME_MAX + 1);

	if (length == 0 || length > HF_TMPFS_XATTR_NAME_MAX)
		return -ERANGE;
	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return -EOPNOTSUPP;
	if (!tmpfs_is_dir(inode) && inode->type != S_IFREG)
		return denied;
	return name[strlen(PREFIX)] ? 0 : -EINVAL;
}

/* The link that points to the attribute, or the list's end. */
static struct tmpfs_block **find_xattr(struct tmpfs_inode *inode, const char *name)
{
	struct tmpfs_block **link = &inode->xattrs;

	while (*link && strcmp(as_xattr(*link)->data, name) != 0)
		link = &(*link)->next;
	return link;
}

static ssize_t get_xattr_locked(struct tmpfs_inode *inode, const char *name, void *to, size_t size)
{
	struct tmpfs_block *block = *find_xattr(inode, name);
	const struct tmpfs_xattr *xattr;

	if (!block)
		return -ENODATA;
	xattr = as_xattr(block);
	if (size == 0)
		return xattr->length;
	if (size < xattr->length)
		return -ERANGE;
	if (hf_copy_to_nofault(to, xattr->data + xattr->name_length + 1, xattr->length))
		return -EFAULT;
	return xattr->length;
}

HF_TMPFS_API ssize_t hf_tmpfs_getxattr(struct hf_tmpfs_node *node, const char *name, void *to,
				       size_t size)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);
	ssize_t got = check_name(inode, name, -ENODATA);

	if (got)
		return got;
	hf_mutex_lock(&inode->lock);
	got = get_xattr_locked(inode, name, to, size);
	hf_mutex_unlock(&inode->lock);
	return got;
}

/*
 * Under the mutex. Changes the total of attribute bytes, and reserves or releases pages
 * accordingly.
 */
static bool take_space(struct tmpfs_inode *inode, uint64_t bytes)
{
	struct hf_tmpfs *fs = inode->block.fs;
	uint64_t now = tmpfs_xattr_pages(inode->xattr_bytes), then = tmpfs_xattr_pages(bytes);

	if (then > now && !tmpfs_reserve(&fs->pages_used, fs->page_limit, then - now))
		return false;
	if (then < now)
		tmpfs_unreserve(&fs->pages_used, now - then);
	inode->xattr_bytes = (uint32_t)bytes;
	return true;
}

/* Under the mutex. Replaces the attribute at `link` by `fresh`; NULL removes it. */
static int put_in(struct tmpfs_inode *inode, struct tmpfs_block **link, struct tmpfs_block *fresh)
{
	struct tmpfs_block *old = *link;
	uint64_t bytes = inode->xattr_bytes, names = inode->xattr_names;

	bytes += (fresh ? tmpfs_xattr_bytes(fresh) : 0) - (old ? tmpfs_xattr_bytes(old) : 0);
	names += fresh ? as_xattr(fresh)->name_length + 1u : 0;
	names -= old ? as_xattr(old)->name_length + 1u : 0;
	if (names > HF_TMPFS_XATTR_SIZE_MAX || !take_space(inode, bytes))
		return -ENOSPC;
	inode->xattr_names = (uint32_t)names;
	if (fresh)
		fresh->next = old ? old->next : NULL;
	*link = fresh ? fresh : old->next;
	if (old)
		tmpfs_object_delete(old);
	tmpfs_touch_attributes(inode);
	return 0;
}

static int set_xattr_locked(struct tmpfs_inode *inode, const char *name, struct tmpfs_block *fresh,
			    int flags)
{
	struct tmpfs_block **link = find_xattr(inode, name);

	if (*link && (flags & HF_TMPFS_XATTR_CREATE))
		return -EEXIST;
	if (!*link && (flags & HF_TMPFS_XATTR_REPLACE))
		return -ENODATA;
	return put_in(inode, link, fresh);
}

HF_TMPFS_API int hf_tmpfs_setxattr(struct hf_tmpfs_node *node, const char *name, const void *from,
				   size_t size, int flags)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);
	size_t name_length;
	struct tmpfs_xattr *fresh;
	int error;

	if (flags & ~(HF_TMPFS_XATTR_CREATE | HF_TMPFS_XATTR_REPLACE))
		return -EINVAL;
	name_length = strnlen(name, HF_TMPFS_XATTR_NAME_MAX + 1);
	if (name_length == 0 || name_length > HF_TMPFS_XATTR_NAME_MAX)
		return -ERANGE;
	if (size > HF_TMPFS_XATTR_SIZE_MAX)
		return -E2BIG;
	error = check_name(inode, name, -EPERM);
	if (error)
		return error;
	fresh = tmpfs_object_new(inode->block.fs, TMPFS_KIND_XATTR,
				 sizeof(*fresh) + name_length + 1 + size);
	if (!fresh)
		return -ENOMEM;
	fresh->length = (uint32_t)size;
	fresh->name_length = (uint8_t)name_length;
	memcpy(fresh->data, name, name_length + 1);
	if (hf_copy_from_nofault(fresh->data + name_length + 1, from, size)) {
		error = -EFAULT;
	} else {
		hf_mutex_lock(&inode->lock);
		error = set_xattr_locked(inode, name, &fresh->block, flags);
		hf_mutex_unlock(&inode->lock);
	}
	if (error)
		tmpfs_object_delete(&fresh->block);
	return error;
}

static ssize_t list_xattr_locked(struct tmpfs_inode *inode, char *to, size_t size)
{
	size_t done = 0;

	if (size == 0)
		return inode->xattr_names;
	if (size < inode->xattr_names)
		return -ERANGE;
	for (struct tmpfs_block *at = inode->xattrs; at; at = at->next) {
		size_t length = as_xattr(at)->name_length + 1u;

		if (hf_copy_to_nofault(to + done, as_xattr(at)->data, length))
			return -EFAULT;
		done += length;
	}
	return (ssize_t)done;
}

HF_TMPFS_API ssize_t hf_tmpfs_listxattr(struct hf_tmpfs_node *node, char *to, size_t size)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);
	ssize_t done;

	hf_mutex_lock(&inode->lock);
	done = list_xattr_locked(inode, to, size);
	hf_mutex_unlock(&inode->lock);
	return done;
}

HF_TMPFS_API int hf_tmpfs_removexattr(struct hf_tmpfs_node *node, const char *name)
{
	struct tmpfs_inode *inode = tmpfs_inode_of(node);
	struct tmpfs_block **link;
	int error = check_name(inode, name, -EPERM);

	if (error)
		return error;
	hf_mutex_lock(&inode->lock);
	link = find_xattr(inode, name);
	error = *link ? put_in(inode, link, NULL) : -ENODATA;
	hf_mutex_unlock(&inode->lock);
	return error;
}

/* SPDX-License-Identifier: MIT */
/* fs - a file system from its beginning to its end: memory, limits. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* A sanitizer watches malloc's objects, and does not know ours. */
#define OWN_MEMORY (!TMPFS_ASAN && !TMPFS_TSAN)

#define TRIM_STACK ((size_t)256 << 10)

static void *plain_allocate(void *data, size_t size)
{
	(void)data;
	return aligned_alloc(64, (size + 63) / 64 * 64);
}

static void plain_release(void *data, void *memory)
{
	(void)data;
	free(memory);
}

/* Of an object: by the program's functions, or in slabs of our own. */
static void *get_memory(struct hf_tmpfs *fs, size_t size)
{
	if (OWN_MEMORY && fs->options.allocate == plain_allocate)
		return tmpfs_memory_get(&fs->memory, size);
	return fs->options.allocate(fs->options.data, size);
}

static void put_memory(struct hf_tmpfs *fs, void *object, size_t size)
{
	if (OWN_MEMORY && fs->options.allocate == plain_allocate)
		tmpfs_memory_put(&fs->memory, object, size);
	else
		fs->options.release(fs->options.data, object);
}

/* ---- time, caller -------------------------------------------------------------------------- */

TMPFS_PRIVATE struct timespec tmpfs_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now;
}

static __thread struct {
	bool is_set;
	struct hf_tmpfs_caller caller;
} acting;

HF_TMPFS_API void hf_tmpfs_act_as(const struct hf_tmpfs_caller *caller)
{
	acting.is_set = caller != NULL;
	if (caller)
		acting.caller = *caller;
}

TMPFS_PRIVATE struct hf_tmpfs_caller tmpfs_caller(void)
{
	if (acting.is_set)
		return acting.caller;
	return (struct hf_tmpfs_caller){ geteuid(), getegid(), geteuid() == 0, NULL, NULL };
}

/* ---- memory -------------------------------------------------------------------------------- */

static uint64_t bytes_waiting(struct hf_tmpfs *fs)
{
	return atomic_load_explicit(&fs->waiting_bytes, memory_order_relaxed);
}

TMPFS_PRIVATE void tmpfs_object_delete(struct tmpfs_block *block)
{
	struct hf_tmpfs *fs = block->fs;

	atomic_fetch_sub_explicit(&fs->allocated[block->kind], 1, memory_order_relaxed);
	put_memory(fs, block, block->size);
}

/* L5 held. */
static void collect(struct hf_tmpfs *fs)
{
	struct tmpfs_block *block =
		atomic_exchange_explicit(&fs->waiting, NULL, memory_order_acquire);
	uint64_t freed = 0, number;

	number = atomic_fetch_add_explicit(&fs->begun, 1, memory_order_seq_cst) + 1;
	tmpfs_rcu_synchronize();
	atomic_store_explicit(&fs->ended, number, memory_order_release);
	while (block) {
		struct tmpfs_block *next = block->next;

		freed += block->size;
		tmpfs_object_delete(block);
		block = next;
	}
	atomic_fetch_sub_explicit(&fs->waiting_bytes, freed, memory_order_relaxed);
}

TMPFS_PRIVATE void *tmpfs_object_new(struct hf_tmpfs *fs, enum tmpfs_kind kind, size_t size)
{
	struct tmpfs_block *block;

	/* Back-pressure: no more memory while so much waits to be freed. */
	if (TMPFS_UNLIKELY(bytes_waiting(fs) > TMPFS_WAITING_HARD)) {
		hf_mutex_lock(&fs->collecting);
		if (bytes_waiting(fs) > TMPFS_WAITING_HARD)
			collect(fs);
		hf_mutex_unlock(&fs->collecting);
	}
	block = get_memory(fs, size);
	if (!block)
		return NULL;
	*block = (struct tmpfs_block){ .fs = fs, .kind = kind, .size = (uint32_t)size };
	atomic_fetch_add_explicit(&fs->allocated[kind], 1, memory_order_relaxed);
	return block;
}

TMPFS_PRIVATE void tmpfs_collect(struct hf_tmpfs *fs)
{
	hf_mutex_lock(&fs->collecting);
	collect(fs);
	hf_mutex_unlock(&fs->collecting);
}

TMPFS_PRIVATE void tmpfs_object_delete_later(struct tmpfs_block *chain)
{
	struct tmpfs_block *last = chain, *head;
	struct hf_tmpfs *fs;
	uint64_t bytes;

	if (!chain)
		return;
	fs = chain->fs;
	for (bytes = last->size; last->next; bytes += last->size)
		last = last->next;
	/* Counted first: what is collected has been counted. */
	bytes += atomic_fetch_add_explicit(&fs->waiting_bytes, bytes, memory_order_relaxed);
	head = atomic_load_explicit(&fs->waiting, memory_order_relaxed);
	do
		last->next = head;
	while (!atomic_compare_exchange_weak_explicit(&fs->waiting, &head, chain,
						      memory_order_release, memory_order_relaxed));
	if (!head)
		sem_post(&fs->to_trim);
	if (bytes > TMPFS_WAITING_SOFT && hf_mutex_trylock(&fs->collecting)) {
		collect(fs);
		hf_mutex_unlock(&fs->collecting);
	}
}

/*
 * When nothing happens any more, what has been freed last shall not stay: a thread collects it, some
 * time after something began to wait. It stands in nobody's way: the calls that free and allocate
 * do not count on it.
 */
static void *trim(void *data)
{
	struct hf_tmpfs *fs = data;

	struct timespec until;

	for (;;) {
		if (sem_wait(&fs->to_trim)) /* EINTR */
			continue;
		until = tmpfs_now();
		until.tv_nsec += TMPFS_TRIM_MILLISECONDS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		if (sem_timedwait(&fs->trim_ends, &until) == 0)
			break;
		while (sem_trywait(&fs->to_trim) == 0)
			;
		if (atomic_load_explicit(&fs->waiting, memory_order_relaxed))
			tmpfs_collect(fs);
	}
	return NULL;
}

/* With all signals blocked, and little memory. */
static int begin_trim(struct hf_tmpfs *fs)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	sigfillset(&all);
	sem_init(&fs->to_trim, 0, 0);
	sem_init(&fs->trim_ends, 0, 0);
	error = pthread_attr_setstacksize(&attributes, TRIM_STACK);
	if (!error) {
		pthread_sigmask(SIG_SETMASK, &all, &before);
		error = pthread_create(&fs->trimmer, &attributes, trim, fs);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attributes);
	return -error;
}

static void end_trim(struct hf_tmpfs *fs)
{
	sem_post(&fs->trim_ends);
	sem_post(&fs->to_trim);
	pthread_join(fs->trimmer, NULL);
	sem_destroy(&fs->to_trim);
	sem_destroy(&fs->trim_ends);
}

/* A grace period that begins later sees what this thread has published: no load passes the addition. */
TMPFS_PRIVATE uint64_t tmpfs_stamp(struct hf_tmpfs *fs)
{
	return atomic_fetch_add_explicit(&fs->begun, 0, memory_order_seq_cst) + 1;
}

TMPFS_PRIVATE bool tmpfs_passed(struct hf_tmpfs *fs, uint64_t stamp)
{
	return atomic_load_explicit(&fs->ended, memory_order_acquire) >= stamp;
}

/* ---- limits -------------------------------------------------------------------------------- */

TMPFS_PRIVATE bool tmpfs_reserve(atomic_uint_least64_t *used, uint64_t limit, uint64_t count)
{
	uint64_t old = atomic_load_explicit(used, memory_order_relaxed);

	/* No add that is taken back: it would have others fail for space that is there. */
	do {
		if (count > limit || old > limit - count)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		used, &old, old + count, memory_order_relaxed, memory_order_relaxed));
	return true;
}

TMPFS_PRIVATE void tmpfs_unreserve(atomic_uint_least64_t *used, uint64_t count)
{
	atomic_fetch_sub_explicit(used, count, memory_order_relaxed);
}

static uint64_t left(uint64_t limit, uint64_t used)
{
	return limit > used ? limit - used : 0;
}

HF_TMPFS_API int hf_tmpfs_statfs(struct hf_tmpfs *fs, struct statvfs *to)
{
	uint64_t pages = atomic_load_explicit(&fs->pages_used, memory_order_relaxed);
	uint64_t inodes = atomic_load_explicit(&fs->inodes_used, memory_order_relaxed);
	uint64_t page_limit = atomic_load_explicit(&fs->page_limit, memory_order_relaxed);
	uint64_t inode_limit = atomic_load_explicit(&fs->inode_limit, memory_order_relaxed);

	memset(to, 0, sizeof(*to));
	to->f_bsize = HF_TMPFS_PAGE;
	to->f_frsize = HF_TMPFS_PAGE;
	to->f_namemax = HF_TMPFS_NAME_MAX;
	if (page_limit != UINT64_MAX) {
		to->f_blocks = page_limit;
		to->f_bfree = to->f_bavail = left(page_limit, pages);
	}
	if (inode_limit != UINT64_MAX) {
		to->f_files = inode_limit;
		to->f_ffree = to->f_favail = left(inode_limit, inodes);
	}
	return 0;
}

/* ---- beginning and end --------------------------------------------------------------------- */

/* The root has a dentry, so that it can be opened; it has no name and is in no directory. */
static int make_root(struct hf_tmpfs *fs)
{
	const struct tmpfs_made what = { .mode = S_IFDIR | S_ISVTX | 0777 };
	struct tmpfs_dentry *root = tmpfs_dentry_new(fs, "", 0);
	struct tmpfs_inode *inode;
	int error;

	if (!root)
		return -ENOMEM;
	error = tmpfs_inode_new(fs, NULL, &what, &inode);
	if (error) {
		tmpfs_object_delete(&root->block);
		return error;
	}
	root->dir = inode;
	root->inode = inode;
	atomic_store_explicit(&inode->parent, inode, memory_order_relaxed);
	atomic_store_explicit(&inode->self, root, memory_order_relaxed);
	fs->root = root;
	return 0;
}

/* liburcu aborts if the system has no page for the thread: so the system is asked before. */
HF_TMPFS_API int hf_tmpfs_thread_begin(void)
{
	const size_t size = (size_t)64 << 10;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return -ENOMEM;
	munmap(page, size);
	urcu_bp_register_thread();
	return 0;
}

static uint64_t pages_of(uint64_t size)
{
	return size ? (size - 1) / HF_TMPFS_PAGE + 1 : UINT64_MAX;
}

/*
 * First the limits, then what is in use: what is reserved meanwhile was within one limit or the other.
 */
HF_TMPFS_API int hf_tmpfs_resize(struct hf_tmpfs *fs, uint64_t size, uint64_t inodes)
{
	uint64_t pages_before, inodes_before, pages = pages_of(size);
	int error = 0;

	inodes = inodes ? inodes : UINT64_MAX;
	hf_mutex_lock(&fs->tables_lock); /* one at a time */
	pages_before = atomic_exchange(&fs->page_limit, pages);
	inodes_before = atomic_exchange(&fs->inode_limit, inodes);
	if (atomic_load(&fs->pages_used) > pages || atomic_load(&fs->inodes_used) > inodes) {
		atomic_store(&fs->page_limit, pages_before);
		atomic_store(&fs->inode_limit, inodes_before);
		error = -EINVAL;
	}
	hf_mutex_unlock(&fs->tables_lock);
	return error;
}

/* The key that names are hashed with. */
static int make_key(struct tmpfs_siphash_key *key)
{
	ssize_t got;

	do
		got = getrandom(key, sizeof(*key), 0);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : 0; /* so few bytes come at once */
}

HF_TMPFS_API int hf_tmpfs_new(struct hf_tmpfs **fs, const struct hf_tmpfs_options *options)
{
	struct hf_tmpfs_options chosen = { .allocate = NULL };
	struct hf_tmpfs *made;
	int error;

	if (options)
		chosen = *options;
	if (!chosen.allocate != !chosen.release)
		return -EINVAL;
	if (!chosen.allocate) {
		chosen.allocate = plain_allocate;
		chosen.release = plain_release;
	}
	if (!chosen.own_handler) {
		error = hf_nofault_install();
		if (error)
			return error;
	}
	made = chosen.allocate(chosen.data, sizeof(*made));
	if (!made)
		return -ENOMEM;
	memset(made, 0, sizeof(*made));
	made->options = chosen;
	atomic_init(&made->page_limit, pages_of(chosen.size));
	atomic_init(&made->inode_limit, chosen.inodes ? chosen.inodes : UINT64_MAX);
	hf_mutex_init(&made->rename);
	hf_mutex_init(&made->tables_lock);
	hf_mutex_init(&made->collecting);
	tmpfs_list_init(&made->tables);
	hf_spinlock_init(&made->nodes_lock);
	tmpfs_list_init(&made->nodes);
	error = make_key(&made->key);
	if (!error)
		error = hf_tmpfs_thread_begin();
	if (!error)
		error = begin_trim(made);
	if (!error) {
		error = make_root(made);
		if (error)
			end_trim(made);
	}
	if (error) {
		(void)tmpfs_memory_end(&made->memory);
		chosen.release(chosen.data, made);
		return error;
	}
	*fs = made;
	return 0;
}

/* Empties the tree, without recursion: a directory's entries go before it does. */
static void remove_all(struct hf_tmpfs *fs)
{
	struct tmpfs_inode *at = fs->root->inode;

	for (;;) {
		struct tmpfs_dentry *dentry = tmpfs_dentry_from(at, 0);

		if (dentry) {
			struct tmpfs_inode *inode = dentry->inode;

			if (tmpfs_is_dir(inode) && inode->items) {
				at = inode;
				continue;
			}
			tmpfs_dentry_remove(at, dentry);
			inode->links -= tmpfs_is_dir(inode) ? 2 : 1;
			if (!tmpfs_is_dir(inode) && inode->links)
				tmpfs_unreserve(&fs->inodes_used, 1);
			tmpfs_dentry_put(dentry);
		} else if (at != fs->root->inode) {
			at = atomic_load_explicit(&at->parent, memory_order_relaxed);
		} else {
			return;
		}
	}
}

HF_TMPFS_API int hf_tmpfs_free(struct hf_tmpfs *fs)
{
	bool busy, unclean;

	hf_mutex_lock(&fs->tables_lock);
	busy = fs->tables.next != &fs->tables;
	hf_mutex_unlock(&fs->tables_lock);
	if (busy || fs->nodes.next != &fs->nodes)
		return -EBUSY;
	remove_all(fs);
	tmpfs_dentry_put(fs->root);
	end_trim(fs);
	tmpfs_collect(fs);
	unclean = atomic_load(&fs->pages_used) != 0 || atomic_load(&fs->inodes_used) != 0;
	unclean |= atomic_load(&fs->waiting_bytes) != 0;
	for (int kind = 0; kind < TMPFS_KINDS; kind++)
		unclean |= atomic_load(&fs->allocated[kind]) != 0;
	unclean |= !tmpfs_memory_end(&fs->memory);
	fs->options.release(fs->options.data, fs);
	return unclean ? -EUCLEAN : 0;
}

/* SPDX-License-Identifier: MIT */
/* objects - see objects.h: allocation, limits, and the caller a thread acts for. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "objects.h"

/* Under a sanitizer: malloc, because it can't track objects in our slabs. */
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

TMPFS_PRIVATE void tmpfs_choose_memory(struct hf_tmpfs_options *options)
{
	if (options->allocate)
		return;
	options->allocate = plain_allocate;
	options->release = plain_release;
}

/* By the program's functions, or from our slabs. */
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

/* ---- caller -------------------------------------------------------------------------------- */

static __thread struct {
	bool is_set;
	uid_t uid;
	gid_t gid;
} acting;

HF_TMPFS_API void hf_tmpfs_act_as(uid_t uid, gid_t gid)
{
	acting.is_set = true;
	acting.uid = uid;
	acting.gid = gid;
}

TMPFS_PRIVATE void tmpfs_caller(uid_t *uid, gid_t *gid)
{
	*uid = acting.is_set ? acting.uid : geteuid();
	*gid = acting.is_set ? acting.gid : getegid();
}

/* ---- memory -------------------------------------------------------------------------------- */

TMPFS_PRIVATE void tmpfs_object_delete(struct tmpfs_block *block)
{
	struct hf_tmpfs *fs = block->fs;

	atomic_fetch_sub_explicit(&fs->allocated[block->kind], 1, memory_order_relaxed);
	put_memory(fs, block, block->size);
}

TMPFS_PRIVATE uint64_t tmpfs_objects_delete(struct tmpfs_block *chain)
{
	uint64_t freed = 0;

	while (chain) {
		struct tmpfs_block *next = chain->next;

		freed += chain->size;
		tmpfs_object_delete(chain);
		chain = next;
	}
	return freed;
}

/* L5 held. */
static void collect(struct hf_tmpfs *fs)
{
	struct tmpfs_block *block =
		atomic_exchange_explicit(&fs->waiting, NULL, memory_order_acquire);
	uint64_t number = atomic_fetch_add_explicit(&fs->begun, 1, memory_order_seq_cst) + 1;

	tmpfs_rcu_synchronize();
	atomic_store_explicit(&fs->ended, number, memory_order_release);
	atomic_fetch_sub_explicit(&fs->waiting_bytes, tmpfs_objects_delete(block),
				  memory_order_relaxed);
}

TMPFS_PRIVATE void *tmpfs_object_new(struct hf_tmpfs *fs, enum tmpfs_kind kind, size_t size)
{
	struct tmpfs_block *block = get_memory(fs, size);

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

/* Wakes the trim thread. It delays its work, so only the first of several calls does anything. */
static void call_trim(struct hf_tmpfs *fs, bool *what)
{
	hf_mutex_lock(&fs->trim_lock);
	if (!*what) {
		*what = true;
		hf_cond_signal(&fs->trim);
	}
	hf_mutex_unlock(&fs->trim_lock);
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
	/* Count before publishing: collect() subtracts only what has been added. */
	bytes += atomic_fetch_add_explicit(&fs->waiting_bytes, bytes, memory_order_relaxed);
	head = atomic_load_explicit(&fs->waiting, memory_order_relaxed);
	do
		last->next = head;
	while (!atomic_compare_exchange_weak_explicit(&fs->waiting, &head, chain,
						      memory_order_release, memory_order_relaxed));
	if (!head)
		call_trim(fs, &fs->to_trim);
	if (bytes > TMPFS_WAITING_HARD)
		hf_mutex_lock(&fs->collecting); /* back-pressure */
	else if (bytes <= TMPFS_WAITING_SOFT || !hf_mutex_trylock(&fs->collecting))
		return;
	collect(fs);
	hf_mutex_unlock(&fs->collecting);
}

/*
 * Frees what is left on the waiting list when the program makes no more calls: collects some time
 * after the list becomes non-empty. Calls that free and allocate do not depend on this thread.
 */
static void *trim(void *data)
{
	struct hf_tmpfs *fs = data;

	hf_mutex_lock(&fs->trim_lock);
	while (!fs->trim_ends) {
		uint64_t until = hf_env_deadline(TMPFS_TRIM_MILLISECONDS * 1000000ull);

		if (!fs->to_trim) {
			hf_cond_wait(&fs->trim, &fs->trim_lock);
			continue;
		}
		while (!fs->trim_ends && hf_cond_wait_until(&fs->trim, &fs->trim_lock, until))
			;
		fs->to_trim = false;
		hf_mutex_unlock(&fs->trim_lock);
		if (atomic_load_explicit(&fs->waiting, memory_order_relaxed))
			tmpfs_collect(fs);
		hf_mutex_lock(&fs->trim_lock);
	}
	hf_mutex_unlock(&fs->trim_lock);
	return NULL;
}

/* The thread has all signals blocked, and a small stack. */
TMPFS_PRIVATE int tmpfs_begin_trim(struct hf_tmpfs *fs)
{
	sigset_t all, before;
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	sigfillset(&all);
	hf_mutex_init(&fs->trim_lock);
	hf_cond_init(&fs->trim);
	error = pthread_attr_setstacksize(&attributes, TRIM_STACK);
	if (!error) {
		pthread_sigmask(SIG_SETMASK, &all, &before);
		error = pthread_create(&fs->trimmer, &attributes, trim, fs);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attributes);
	return -error;
}

TMPFS_PRIVATE void tmpfs_end_trim(struct hf_tmpfs *fs)
{
	call_trim(fs, &fs->trim_ends);
	pthread_join(fs->trimmer, NULL);
}

/*
 * Sequentially consistent: a grace period that begins later covers what this thread has published.
 */
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

	/*
	 * Not add-then-undo: the temporary excess would make other threads fail although there is
	 * space.
	 */
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

/* SPDX-License-Identifier: MIT */
/*
 * pair - two copies of the library in one process, the program's and a plug-in's: all per-process
 * state is used through both.
 *
 *   pair PLUGIN static|shared       the plug-in's library
 *
 * If one copy parks a thread and the other fails to wake it, an alarm ends the test. run.py checks
 * standard error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../ktap.h"

#include "operations.h"

enum { THREADS = 4, EACH = 320, LEN = 100 };

static const struct operations *part[2]; /* the program's, the plug-in's */
static struct shared shared;

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# line %d: not so: %s\n", __LINE__, #condition);                   \
			return false;                                                              \
		}                                                                                  \
	} while (0)

static void *counter(void *operations)
{
	__atomic_add_fetch(&shared.threads, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared.threads, __ATOMIC_SEQ_CST) < THREADS)
		usleep(100);
	((const struct operations *)operations)->count(&shared, EACH);
	return NULL;
}

static void *waiter(void *operations)
{
	((const struct operations *)operations)->wait(&shared);
	return NULL;
}

/* The table of parked threads, and the queue nodes. */
static bool locks(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, counter, (void *)part[i % 2]) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	MUST(shared.by_mutex == THREADS * EACH);
	MUST(shared.by_spinlock == THREADS * EACH);
	return true;
}

/* Two threads wait through one copy; `between`, unless NULL, is closed; `waker` wakes them. */
static bool wait_and_wake(const struct operations *waits, void *between,
			  const struct operations *waker)
{
	pthread_t thread[2];

	shared.go = shared.waiting = 0;
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, waiter, (void *)waits) == 0);
	for (int all = 0; !all; usleep(1000)) {
		hf_mutex_lock(&shared.mutex);
		all = shared.waiting == 2;
		hf_mutex_unlock(&shared.mutex);
	}
	MUST(!between || dlclose(between) == 0);
	waker->wake(&shared);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return true;
}

static bool conditions(void)
{
	return wait_and_wake(part[0], NULL, part[1]) && wait_and_wake(part[1], NULL, part[0]);
}

/* Each copy has a handler, which passes on the other's faults. The last one is removed first. */
static bool faults(void)
{
	bool one = part[0]->install == part[1]->install;
	char *bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(bad != MAP_FAILED);
	for (int first = 0; first < 2; first++) {
		const struct operations *a = part[first], *b = part[!first];

		MUST(a->install() == 0 && a->clear(bad, LEN) == LEN);
		MUST(b->install() == 0 && b->clear(bad, LEN) == LEN && a->clear(bad, LEN) == LEN);
		if (!one) {
			MUST(a->remove() == -EBUSY);
			MUST(a->clear(bad, LEN) == LEN && b->clear(bad, LEN) == LEN);
			MUST(b->remove() == 0 && a->clear(bad, LEN) == LEN);
		}
		MUST(a->remove() == 0);
	}
	return munmap(bad, 4096) == 0;
}

static void handle(enum hf_report_kind kind, const void *object, void *data)
{
	(void)object;
	*(int *)data += kind == HF_REPORT_ADD_UAF;
}

/* One handler, one mode, one set of counters. */
static bool reports(void)
{
	for (int sets = 0; sets < 2; sets++) {
		int handled = 0;

		part[sets]->reset();
		part[sets]->set_handler(handle, &handled);
		for (int i = 0; i < 3; i++) {
			part[!sets]->misuse();
			part[sets]->misuse();
			MUST(handled == 1); /* each kind once */
			for (int asked = 0; asked < 2; asked++)
				MUST(part[asked]->reports(HF_REPORT_ADD_UAF) == 2u * (i + 1));
		}
		MUST(part[sets]->set_mode(HF_REPORT_MODE_QUIET) == HF_REPORT_MODE_WARN);
		part[!sets]->misuse();
		MUST(part[!sets]->reports(HF_REPORT_ADD_UAF) == 6);
		MUST(part[!sets]->set_mode(HF_REPORT_MODE_WARN) == HF_REPORT_MODE_QUIET);
		part[!sets]->set_handler(NULL, NULL);
		part[!sets]->reset();
	}
	return true;
}

/* One copy knows all locks of a thread. Two would each miss some: they must warn, not report. */
static bool validation(void)
{
	static hf_mutex_t mutex = HF_MUTEX_INIT;
	bool one = part[0]->validations == part[1]->validations;
	int handled = 0;
	uint32_t reported = 0;

	part[0]->reset();
	for (int round = 0; round < 2; round++) {
		part[0]->lock(&mutex);
		part[1]->unlock(&mutex);
		part[1]->lock(&mutex);
		part[0]->unlock(&mutex);
	}
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++)
		reported += part[0]->reports((enum hf_report_kind)kind);
	MUST(reported == 0 && hf_mutex_trylock(&mutex));
	hf_mutex_unlock(&mutex);
	part[0]->set_handler(handle, &handled);
	if (one) {
		part[0]->unlock(&mutex);
		MUST(part[0]->reports(HF_REPORT_LOCK_UNLOCKED) == 1);
	}
	part[0]->reset();
	part[0]->set_handler(NULL, NULL);
	printf("# %s validate\n", one ? "one" : "two");
	return true;
}

/* The plug-in is unloaded while threads of the program wait: the parking table must stay mapped. */
static bool unload(void *plugin, const char *path)
{
	return wait_and_wake(part[0], plugin, part[0]) && !dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}

int main(int argc, char **argv)
{
	void *plugin;
	bool own_copy;

	if (argc != 3)
		return 2;
	alarm(120);
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	part[0] = &copies_operations;
	part[1] = dlsym(plugin, "copies_operations");
	printf("# headers %s and %s, library %s and %s\n", part[0]->version, part[1]->version,
	       (const char *)part[0]->library, (const char *)part[1]->library);
	own_copy = strcmp(argv[2], "static") == 0 && part[0]->library != part[1]->library;
	ktap_begin(7);
	ktap_result(locks(), "locks");
	ktap_result(conditions(), "conditions");
	ktap_result(faults(), "faults");
	ktap_result(reports(), "reports");
	ktap_result(validation(), "validation");
	if (own_copy)
		part[1]->handle_here();
	ktap_result(unload(plugin, argv[1]), "unload");
	if (own_copy) {
		/* The handler was in the unloaded plug-in: the line is printed instead. */
		part[0]->misuse();
		ktap_result(true, "a handler in an unloaded plug-in");
	} else {
		ktap_skip("a shared library does not know whose handler it is",
			  "a handler in an unloaded plug-in");
	}
	return ktap_end();
}

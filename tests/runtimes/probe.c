/* SPDX-License-Identifier: MIT */
/* probe - for run.py: fault handling in another runtime. Called from C, JNI and Node.js. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/region.h>

enum { PAGE = 4096, PAGES = 8 };

#define PROBE __attribute__((visibility("default")))

PROBE int probe_install(void)
{
	return hf_nofault_install();
}

PROBE int probe_owned(void)
{
	return hf_nofault_owned();
}

/* Returns 0, or the number of the failed check. */
PROBE int probe_words(void)
{
	char to[64], from[64] = "there";
	uint64_t word = 5;

	if (hf_copy_nofault(to, (const void *)(uintptr_t)16, 64) != 64)
		return 1;
	if (hf_copy_nofault(to, from, 64) || to[0] != 't')
		return 2;
	if (hf_load64_nofault(&word, (const void *)(uintptr_t)0x8000000000000000) != -HF_EFAULT ||
	    word != 5)
		return 3;
	return 0;
}

struct probe {
	hf_region_t region;
	unsigned char *map;
	int file;
};

PROBE unsigned long probe_map_offset(void)
{
	return offsetof(struct probe, map);
}

/* In steps, so that the caller's language can run code between them. */
PROBE int probe_begin(struct probe *probe)
{
	probe->file = memfd_create("probe", MFD_CLOEXEC);
	if (probe->file < 0 || ftruncate(probe->file, (off_t)PAGES * PAGE))
		return 11;
	probe->map = (unsigned char *)mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED,
					   probe->file, 0);
	if (probe->map == MAP_FAILED)
		return 12;
	return hf_region_begin_file(&probe->region, probe->map, (size_t)PAGES * PAGE, PROT_READ,
				    MAP_SHARED, probe->file, 0);
}

PROBE void probe_cut(struct probe *probe)
{
	if (ftruncate(probe->file, 3 * PAGE))
		probe->file = -1;
}

/*
 * Returns 0 if three pages were left, as after probe_cut(); 22 if all pages were; 20 if another
 * thread began the region, which then stays open; else 21.
 */
PROBE int probe_end(struct probe *probe)
{
	struct hf_region_fault fault;
	size_t bad = hf_region_end(&probe->region, &fault);

	if (fault.error)
		return 20;
	(void)munmap(probe->map, (size_t)PAGES * PAGE);
	(void)close(probe->file);
	return bad == 3 * PAGE ? 0 : bad == PAGES * PAGE ? 22 : 21;
}

PROBE int probe_region(void)
{
	struct probe probe;
	int error = probe_begin(&probe);

	if (error)
		return error;
	probe_cut(&probe);
	(void)*(volatile unsigned char *)(probe.map + 6 * PAGE);
	return probe_end(&probe);
}

static void *in_thread(void *result)
{
	*(int *)result = probe_words() ? 31 : probe_region();
	return NULL;
}

/* Runs all checks in this thread and in one that C creates. */
PROBE int probe_all(void)
{
	pthread_t thread;
	int result = 30;

	if (probe_words() || probe_region())
		return probe_words() ? 1 : 2;
	if (pthread_create(&thread, NULL, in_thread, &result) || pthread_join(thread, NULL))
		return 32;
	return result;
}

#ifdef PROBE_JNI
#include <jni.h>

JNIEXPORT jint JNICALL Java_Probe_install(JNIEnv *env, jclass self)
{
	(void)env, (void)self;
	return probe_install();
}

JNIEXPORT jint JNICALL Java_Probe_all(JNIEnv *env, jclass self)
{
	(void)env, (void)self;
	return probe_all();
}
#endif

#ifdef PROBE_NODE
#include <node_api.h>

static napi_value run(napi_env env, napi_callback_info info)
{
	napi_value value;

	(void)info;
	(void)napi_create_int32(env, probe_install() ? 40 : probe_all(), &value);
	return value;
}

NAPI_MODULE_INIT()
{
	napi_value function;

	(void)napi_create_function(env, "run", NAPI_AUTO_LENGTH, run, NULL, &function);
	(void)napi_set_named_property(env, exports, "run", function);
	return exports;
}
#endif

#ifdef PROBE_PRELOAD
/* LD_PRELOAD: installed before the runtime, whose handlers may or may not chain to ours. */
__attribute__((constructor)) static void start(void)
{
	if (probe_install())
		_exit(50);
}
#endif

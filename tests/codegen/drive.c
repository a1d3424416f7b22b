/* SPDX-License-Identifier: MIT */
/*
 * drive - calls every path as if nobody else were there, and checks what it did.
 *
 * run.py runs this in an emulator that logs each instruction: what a path executes here is its fast
 * path. Where a function is called twice, the second call drops the last reference.
 *
 * No C library: the program is what is here and in paths.c, owners.cpp, bad.c. Exit status: 0, or 1 with what
 * failed on standard error.
 */
#include "paths.h"

#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n\tcall drive\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n_start:\n\tbl drive\n");
#endif

void drive(void) __attribute__((noreturn));

static long system_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}

#if defined(__x86_64__)
enum { SYS_WRITE = 1, SYS_EXIT_GROUP = 231, SYS_ARCH_PRCTL = 158, ARCH_SET_FS = 0x1002 };
#elif defined(__aarch64__)
enum { SYS_WRITE = 64, SYS_EXIT_GROUP = 94 };
#endif

static __attribute__((noreturn)) void leave(int status)
{
	system_call(SYS_EXIT_GROUP, status, 0, 0);
	__builtin_unreachable();
}

static void write_error(const char *text)
{
	for (; *text; text++)
		system_call(SYS_WRITE, 2, (long)text, 1);
}

/* Which implementation's paths are being called. */
static const char *driven = "";

static __attribute__((noreturn)) void failed(const char *what)
{
	write_error(driven);
	write_error(": ");
	write_error(what);
	write_error("\n");
	leave(1);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			failed("not so: " #condition);                                             \
	} while (0)

/* ---- What the library would define ---------------------------------------------------------- */

uint32_t hf_detail_spin_rate, hf_detail_processors;
uint32_t hf_detail_profile_on;

/*
 * This thread gets its variables. Thread-local variables lie beside what the thread register points to: below
 * it on x86-64, above it on AArch64.
 */
static void begin_thread(void)
{
	static char variables[512] HF_ALIGNED(64);
	void *middle = &variables[sizeof(variables) / 2];

#if defined(__x86_64__)
	*(void **)middle = middle; /* where some compilers read it */
	if (system_call(SYS_ARCH_PRCTL, ARCH_SET_FS, (long)middle, 0) != 0)
		failed("no thread-local variables");
#elif defined(__aarch64__)
	__asm__ volatile("msr tpidr_el0, %0" ::"r"(middle) : "memory");
#endif
}

/* No slow path may be taken. */
uint32_t hf_env_node_get(void)
{
	failed("hf_env_node_get() was called");
}

void hf_env_node_put(uint32_t index)
{
	(void)index;
	failed("hf_env_node_put() was called");
}

hf_node_t *hf_env_node(uint32_t index)
{
	(void)index;
	failed("hf_env_node() was called");
}

uint64_t hf_env_deadline(uint64_t nanoseconds)
{
	(void)nanoseconds;
	failed("hf_env_deadline() was called");
}

void hf_detail_profile_add(uint64_t start, enum hf_detail_profile_kind kind,
			   const volatile void *lock, const void *site)
{
	(void)start;
	(void)kind;
	(void)lock;
	(void)site;
	failed("hf_detail_profile_add() was called");
}

void hf_report(enum hf_report_kind kind, const volatile void *object)
{
	(void)kind;
	(void)object;
	failed("hf_report() was called");
}

void hf_report_at(enum hf_report_kind kind, const volatile void *object, const void *site)
{
	(void)site;
	hf_report(kind, object);
}

bool hf_detail_mutex_lock_slow(hf_atomic32_t *word, uint64_t deadline)
{
	(void)word;
	(void)deadline;
	failed("hf_detail_mutex_lock_slow() was called");
}

void hf_detail_mutex_unlock_slow(hf_atomic32_t *word)
{
	(void)word;
	failed("hf_detail_mutex_unlock_slow() was called");
}

static const hf_atomic32_t nobody[HF_DETAIL_PARKING_BUCKETS];
const hf_atomic32_t *volatile hf_detail_parking_need = nobody;

/* ---- The paths ------------------------------------------------------------------------------ */

static void *freed;

void object_free(void *object)
{
	freed = object;
}

static void drive_refcount(void)
{
	hf_refcount_t r = HF_REFCOUNT_INIT(1);

	driven = "refcount";
	refcount_inc(&r);
	CHECK(hf_refcount_read(&r) == 2);
	refcount_dec(&r);
	CHECK(hf_refcount_read(&r) == 1);
	CHECK(refcount_inc_not_zero(&r));
	CHECK(hf_refcount_read(&r) == 2);
	CHECK(!refcount_dec_and_test(&r));
	CHECK(refcount_dec_and_test(&r));
	CHECK(hf_refcount_read(&r) == 0);
	hf_refcount_set(&r, 2);
	freed = NULL;
	refcount_put(&r);
	CHECK(!freed);
	refcount_put(&r);
	CHECK(freed == &r);
}

#define SPINLOCK(name, verbs)                                                                      \
	do {                                                                                       \
		static verbs##_t lock; /* all bytes 0: free */                                     \
                                                                                                   \
		driven = "spinlock " #name;                                                        \
		spinlock_##name##_lock(&lock);                                                     \
		CHECK(verbs##_is_locked(&lock));                                                   \
		spinlock_##name##_unlock(&lock);                                                   \
		CHECK(!verbs##_is_locked(&lock));                                                  \
		CHECK(spinlock_##name##_trylock(&lock));                                           \
		CHECK(verbs##_is_locked(&lock));                                                   \
		verbs##_unlock(&lock);                                                             \
	} while (0);

static void drive_lockref(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);

	driven = "lockref";
	lockref_get(&l);
	CHECK(lockref_get_not_zero(&l));
	CHECK(lockref_get_not_dead(&l));
	CHECK(hf_lockref_read(&l) == 4);
	CHECK(lockref_put_or_lock(&l));
	CHECK(lockref_put_return(&l) == 2);
	CHECK(hf_lockref_read(&l) == 2);
	CHECK(lockref_put_not_zero(&l));
	CHECK(hf_lockref_read(&l) == 1);
}

static void mutex(void)
{
	static hf_mutex_t mutex; /* all bytes 0: free */

	driven = "mutex";
	mutex_lock(&mutex);
	CHECK(hf_mutex_is_locked(&mutex));
	mutex_unlock(&mutex);
	CHECK(!hf_mutex_is_locked(&mutex));
	CHECK(mutex_trylock(&mutex));
	CHECK(hf_mutex_is_locked(&mutex));
}

static void waitfree(void)
{
	hf_lockref_waitfree_t l = HF_LOCKREF_WAITFREE_INIT(1);

	driven = "lockref waitfree";
	lockref_waitfree_get(&l);
	CHECK(lockref_waitfree_get_not_dead(&l));
	CHECK(hf_lockref_waitfree_read(&l) == 3);
	CHECK(lockref_waitfree_put_or_lock(&l));
	CHECK(lockref_waitfree_put_return(&l) == 1);
	CHECK(hf_lockref_waitfree_read(&l) == 1);
}

static void owners(void)
{
	hf_refcount_t object = HF_REFCOUNT_INIT(1);
	void *first = &object, *second = NULL, *third = NULL;

	driven = "owners";
	freed = NULL;
	owner_copy(&second, &first);
	CHECK(second == &object && hf_refcount_read(&object) == 2);
	owner_move(&third, &second);
	CHECK(!second && third == &object && hf_refcount_read(&object) == 2);
	owner_drop(&third);
	CHECK(!freed && hf_refcount_read(&object) == 1);
	owner_drop(&first);
	CHECK(freed == &object);
}

void drive(void)
{
	static uint32_t word;

	begin_thread();
	drive_refcount();
	SPINLOCKS
	mutex();
	drive_lockref();
	waitfree();
	owners();

	driven = "bad.c";
	good(&word);
	bad_call(&word);
	bad_cold(&word);
	bad_straight(&word);
	bad_barrier(&word);
	bad_stack(&word);
	bad_atomics(&word);
	word = 1;
	bad_branches(&word);
	word = 1;
	bad_setcc(&word);
	bad_byte(&word);
	bad_word64(&word);
	bad_store(&word);
	bad_cost(&word);
	leave(0);
}

/* SPDX-License-Identifier: MIT */
#ifndef HF_RUN_H
#define HF_RUN_H
/*
 * run - libholdfast_run.so, which hf-run preloads: an unmodified program's pthread mutexes,
 * condition variables and read-write locks become Holdfast's.
 *
 * State
 *   In the memory of the pthread_mutex_t, and so on. `kind` and the flags stay where glibc has
 *   them, so static initializers work, and each call can tell ours from glibc's:
 *
 *     a mutex                  normal, adaptive, recursive, error-checking, private: ours
 *                              robust, PI, PP, process-shared: glibc's ("foreign")
 *     a condition variable     private: ours, with whatever mutex; process-shared: glibc's
 *     a read-write lock        private: ours; process-shared: glibc's
 *
 * Invariants
 *   R1  An object's own memory says whether it is ours or glibc's, not what it is used with: so two
 *       calls cannot disagree. A wait that combines one of ours with one of glibc's locks a mutex
 *       of a table of this library between the two (run_cond.c).
 *   R2  What glibc itself locks does not come here: stdio, malloc, barriers, semaphores and
 *       once-functions do not call through the PLT. (The program's calls of those functions do,
 *       and are timed: run_wait.c.) C11's mtx_t and cnd_t are, in glibc, the
 *       same objects as pthread's, and programs mix them: so both interfaces are here.
 *   R3  What is watched (profile, validation) is never changed: a misuse is reported, and then has
 *       the effect that it would have without. Only a recursion that is a deadlock for certain is
 *       granted: without a time limit, in a process that has no other thread.
 *   R4  A thread that runs this library's own slow work (a stack, a report) is `hf_run_is_busy`:
 *       locks that the unwinder takes meanwhile work, and are not watched.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "holdfast/cond.h"
#include "holdfast/rwlock.h"

#include "../../src/env/env.h"
#include "../../src/profile/profile.h"
#include "site.h"

/* Tests make the windows of a race wide here. */
#ifndef HF_RUN_PAUSE
#define HF_RUN_PAUSE() ((void)0)
#endif

#define HF_RUN_EXPORT __attribute__((visibility("default")))
#define HF_RUN_COLD __attribute__((cold, noinline))
/* glibc exports a function as __name, too. Its headers give attributes to the first one only. */
#define HF_RUN_ALIAS(name)                                                                         \
	extern __typeof__(name) __##name __attribute__((alias(#name), visibility("default")))
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif
/* In an exported function: an address inside of the call. */
#define HF_RUN_CALLER ((const void *)((const char *)__builtin_return_address(0) - 1))

struct hf_run_mutex {
	hf_mutex_t lock;
	uint32_t depth;    /* while it is held: of a recursive one, or of one that is watched */
	const void *owner; /* recursive, error-checking, or validated: &hf_run_me of the holder */
	int kind;          /* glibc's */
	uint32_t place;    /* watched: the number of the place that made it; 0 = not known yet */
	uint32_t identity; /* watched: no other lock has it; 0 = none yet */
	uint32_t last;     /* profile: stands for the thread that took it last */
	uint64_t since;    /* profile: when it was taken, 0 = not watched then */
};

/* What gets an address only finds `owner`, `place` and `identity` where a mutex has them. */
struct hf_run_rwlock {
	hf_rwlock_t lock;
	uint32_t read_place; /* watched: its readers' place; `place` is its writers' */
	const void *owner;   /* &hf_run_me of the writer that is inside */
	uint32_t last;       /* of writers, as `since` */
	uint32_t place, identity;
	int sharing; /* glibc's; COUNTED: run_rwlock.c */
	uint64_t since, unused;
	uint32_t kind; /* glibc's */
};

/* glibc's flags lie somewhere behind these: hf_run_cond_flags(). */
struct hf_run_cond {
	hf_atomic32_t waiters;
	hf_atomic32_t foreign; /* 1 = was used with a foreign mutex: run_cond.c */
	uint32_t place;        /* watched: as of a mutex */
};

/* Of a mutex, or of a read-write lock. */
HF_INLINE const void *hf_run_owner(const void *lock)
{
	return __atomic_load_n(&((const struct hf_run_mutex *)lock)->owner, __ATOMIC_RELAXED);
}

HF_INLINE void hf_run_set_owner(void *lock, const void *owner)
{
	__atomic_store_n(&((struct hf_run_mutex *)lock)->owner, owner, __ATOMIC_RELAXED);
}

enum { HF_RUN_PROFILE = 1, HF_RUN_VALIDATE = 2 };

/* What is watched. Written before main(). */
extern uint32_t hf_run_watch __attribute__((visibility("hidden")));

/* Its address stands for the thread; the same in the child of a fork. */
extern HF_RUN_THREAD char hf_run_me __attribute__((visibility("hidden")));
extern HF_RUN_THREAD bool hf_run_is_busy __attribute__((visibility("hidden"))); /* R4 */

HF_INLINE bool hf_run_is_mine(const void *lock)
{
	return hf_run_owner(lock) == &hf_run_me;
}

/* Is one of these watched in this thread (R4)? */
HF_INLINE bool hf_run_is_watched(uint32_t what)
{
	return (hf_run_watch & what) && !hf_run_is_busy;
}

/* ---- run_glibc.c: glibc's functions, and time --------------------------------------------- */

/* The functions that this library calls in glibc, since it has its own in front of them. */
#define HF_RUN_REALS(X)                                                                            \
	X(pthread_mutex_init)                                                                      \
	X(pthread_mutex_destroy)                                                                   \
	X(pthread_mutex_lock)                                                                      \
	X(pthread_mutex_trylock)                                                                   \
	X(pthread_mutex_clocklock)                                                                 \
	X(pthread_mutex_unlock)                                                                    \
	X(pthread_cond_init)                                                                       \
	X(pthread_cond_destroy)                                                                    \
	X(pthread_cond_wait)                                                                       \
	X(pthread_cond_clockwait)                                                                  \
	X(pthread_cond_signal)                                                                     \
	X(pthread_cond_broadcast)                                                                  \
	X(pthread_rwlock_init)                                                                     \
	X(pthread_rwlock_destroy)                                                                  \
	X(pthread_rwlock_rdlock)                                                                   \
	X(pthread_rwlock_wrlock)                                                                   \
	X(pthread_rwlock_clockrdlock)                                                              \
	X(pthread_rwlock_clockwrlock)                                                              \
	X(pthread_rwlock_tryrdlock)                                                                \
	X(pthread_rwlock_trywrlock)                                                                \
	X(pthread_rwlock_unlock)                                                                   \
	X(pthread_cancel)                                                                          \
	X(pthread_create)                                                                          \
	X(pthread_sigmask)                                                                         \
	X(sigaction)                                                                               \
	X(signal)                                                                                  \
	X(syscall)                                                                                 \
	X(dlopen)                                                                                  \
	X(_exit) /* the last one: see hf_run_real() */

#define HF_RUN_REAL(name) __typeof__(&(name)) name;
struct hf_run_real {
	HF_RUN_REALS(HF_RUN_REAL)
};

/* Finds all at the first call: a constructor of another object may come before ours. */
const struct hf_run_real *hf_run_real(void);

/* Sets the pointer at @to to glibc's function. */
void hf_run_find(void *to, const char *name);

/* glibc's flags of a condition variable. */
enum { HF_RUN_COND_IS_SHARED = 1, HF_RUN_COND_IS_MONOTONIC = 2 };
uint32_t *hf_run_cond_flags(pthread_cond_t *cond);

/* Ends the process with a message if this library was compiled for other types than glibc has. */
void hf_run_check_layout(void);

bool hf_run_is_time(const struct timespec *end);
/* Nanoseconds until @end; 0 = it is past. */
uint64_t hf_run_time_left(clockid_t clock, const struct timespec *end);
/* @end NULL = none. A later jump of CLOCK_REALTIME does not change it. */
uint64_t hf_run_deadline(clockid_t clock, const struct timespec *end);

/* ---- run_mutex.c and run_cond.c, for each other and for run_c11.c -------------------------- */

/*
 * As pthread's functions; @caller: of the exported function, for reports. What init makes is ours:
 * a mutex of this @kind, a private condition variable.
 */
void hf_run_init(pthread_mutex_t *mutex, int kind, const void *caller);
int hf_run_lock(pthread_mutex_t *mutex, const void *caller);
int hf_run_lock_until(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *end,
		      const void *caller);
int hf_run_trylock(pthread_mutex_t *mutex, const void *caller);
int hf_run_unlock(pthread_mutex_t *mutex, const void *caller);
void hf_run_cond_init(pthread_cond_t *cond, clockid_t clock, const void *caller);
/* @end NULL = without a limit */
int hf_run_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
		     const struct timespec *end, const void *caller);
int hf_run_cond_wake(pthread_cond_t *cond, bool all, const void *caller);

bool hf_run_is_foreign(const struct hf_run_mutex *m);
/* Neither recursive, error-checking nor foreign, and nothing is watched. */
bool hf_run_is_plain(const struct hf_run_mutex *m);
/* Recursive or error-checking: it has a known owner. */
bool hf_run_has_owner(const struct hf_run_mutex *m);
/* The mutex was taken; @start: when the wait for it began, 0 = it was free. */
void hf_run_taken(struct hf_run_mutex *m, uint64_t start, const void *caller);
/* The mutex is about to be released. Returns since when it was held, for hf_run_profile_held(). */
uint64_t hf_run_releasing(struct hf_run_mutex *m, const void *caller);

/* ---- run_cancel.c: a thread that waits at a condition variable may be cancelled -------------- */

/* Acts on a cancellation; then notes that this thread is about to wait at @cond. */
void hf_run_wait_begins(hf_atomic32_t *cond);
/* The wait has ended. Acts on a cancellation, unless the thread was signalled. */
void hf_run_wait_ended(bool signalled);

void hf_run_cancel_forked(void);

/* ---- run_place.c: where something was made or waited for, as a stack -------------------- */

enum hf_run_origin {
	HF_RUN_MADE_BY_INIT,
	HF_RUN_IS_STATIC,  /* no init was called, and it is in an object */
	HF_RUN_FIRST_USED, /* no init was called, and it is elsewhere, as of C++ */
	HF_RUN_WAITED_AT,  /* of glibc's, which have no room for a number: the call that waits */
};

/* What threads wait for. */
enum hf_run_kind {
	HF_RUN_MUTEX,
	HF_RUN_COND,
	HF_RUN_READ,
	HF_RUN_WRITE,
	/* glibc's: run_wait.c */
	HF_RUN_SEMAPHORE,
	HF_RUN_BARRIER,
	HF_RUN_JOIN,
	HF_RUN_ONCE,
	HF_RUN_FUTEX,
};

/* Its members are constant, but for `objects`. */
struct hf_run_place {
	struct hf_detail_table_entry entry;
	enum hf_run_origin origin;
	enum hf_run_kind kind;
	const void *object; /* the first one that was made here */
	hf_atomic64_t objects;
	struct hf_detail_stack stack;
};

enum { HF_RUN_PLACES = 1 << 22 }; /* above all numbers of places */

/* A place by its number. Number 0 is of all that found no room. */
struct hf_run_place *hf_run_place(uint32_t number);

/* Loads the unwinder. Without it, stacks are of one frame. */
void hf_run_stacks_start(void);
/* The callers of this library, from the call at @caller on. Takes no lock of the program's (S1). */
void hf_run_stack(struct hf_detail_stack *stack, const void *caller);

/* The number of the place that makes @object now. */
uint32_t hf_run_place_of_init(const void *object, enum hf_run_kind kind, const void *caller);
/* The same of an object that was not initialised by a call. */
uint32_t hf_run_place_of_use(const void *object, enum hf_run_kind kind, const void *caller);
/* The place of glibc's @object, which is waited for now: itself, if it is static, or the call. */
uint32_t hf_run_place_of_wait(const void *object, enum hf_run_kind kind, const void *caller);

/* ---- run_profile.c: counting ---------------------------------------------------------------- */

enum { HF_RUN_EVENTS = 65536 };

/* What a thread counts. Times are in nanoseconds. */
enum hf_run_count {
	HF_RUN_USED, /* how often it was taken, or signalled */
	HF_RUN_WAITS,
	HF_RUN_TIMED_OUT, /* of the waits */
	HF_RUN_WAIT,
	HF_RUN_LONGEST,
	HF_RUN_ODD, /* changes of the owner; signals without a waiter */
	HF_RUN_HELD,
	HF_RUN_HELD_LONGEST,
	HF_RUN_COUNTS
};

/* What one thread did with the objects of one place. Only it writes that. */
struct hf_run_record {
	hf_atomic64_t count[HF_RUN_COUNTS];
};

/* A wait or a hold that took long: for the time line. */
struct hf_run_event {
	uint64_t start, end;
	uint32_t place, thread;
	hf_atomic32_t what; /* 0 = not written yet */
};

enum { HF_RUN_HAS_WAITED = 1, HF_RUN_HAS_HELD = 2 };

extern struct hf_detail_table hf_run_sites; /* of struct hf_detail_wait_site; `what` is a place */
extern struct hf_run_event *hf_run_events;  /* NULL = no time line was asked for */
extern hf_atomic32_t hf_run_event_count;
/* When the profile began. */
extern uint64_t hf_run_begun;

void hf_run_profile_start(bool has_events);
/*
 * A lock was taken; @start: when the wait for it began, 0 = it was free; @last: the lock's, NULL =
 * by a reader. Returns the time.
 */
uint64_t hf_run_profile_taken(uint32_t place, uint32_t *last, uint64_t start, const void *caller);
void hf_run_profile_waited(uint32_t place, uint64_t start, uint64_t end, bool timed_out,
			   const void *caller);
void hf_run_profile_held(uint32_t place, uint64_t since, uint64_t now);
/*
 * Since when this thread's last wait for a mutex inside of the library lasted; 0 = there was none.
 */
extern HF_RUN_THREAD uint64_t hf_run_relocks __attribute__((visibility("hidden")));
void hf_run_profile_signalled(uint32_t place, bool woke);
/* Before a thread waits: notes its stack now and then. Returns the time; 0 = without a profile. */
uint64_t hf_run_profile_waits(uint32_t place, const void *caller);
void hf_run_profile_forked(void);

/* ---- run_thread.c: threads -------------------------------------------------------------- */

enum { HF_RUN_CALLS = 16, HF_RUN_MEMOS = 16 };

/* The site that this thread's waits in a call count for. */
struct hf_run_call {
	const void *caller;
	uint32_t place;
	struct hf_detail_wait_site *site;
};

/* A stack that this thread had, and where each return address was: run_memo.c. */
struct hf_run_memo {
	const void *caller; /* NULL = none; written last, since a signal handler may look */
	const void *frame;
	struct hf_detail_stack stack;
	const uintptr_t *word[HF_DETAIL_FRAMES];
};

struct hf_run_thread {
	struct hf_run_thread *next_unused;
	uint64_t begun;                 /* 0 = has ended, or is the first thread */
	pid_t number;                   /* the kernel's */
	struct hf_detail_table records; /* of struct hf_run_record: by the place's number + 1 */
	uint64_t waited;                /* how long, since its last stack */
	struct hf_run_call calls[HF_RUN_CALLS];
	struct hf_run_memo memos[HF_RUN_MEMOS];
};

/* As many as were watched at the same time. */
extern struct hf_detail_table hf_run_threads;

HF_INLINE struct hf_run_thread *hf_run_thread_at(uint32_t number)
{
	return (struct hf_run_thread *)hf_detail_table_at(&hf_run_threads, number,
							  sizeof(struct hf_run_thread));
}

/* What all threads did since the profile began, those that have ended included. */
struct hf_run_times {
	uint64_t threads, all_ns; /* how many there were, and how long they lived together */
	uint64_t running_ns;
	uint64_t ready_ns; /* without a processor; 0 = this kernel does not say */
};
struct hf_run_times hf_run_times(void);

void hf_run_threads_start(void);
void hf_run_threads_forked(void);
/* This thread; NULL = no memory. */
struct hf_run_thread *hf_run_thread(void);
/* A number that no other thread has had; after hf_run_thread(). */
uint32_t hf_run_thread_serial(void);

/* ---- run_memo.c: the last stacks of each thread ----------------------------------------- */

/* @frame: the address of the frame that calls these. Returns false if the stack must be unwound. */
bool hf_run_recall(struct hf_detail_stack *stack, const void *caller, const void *frame);
/* @ends: of the frames that the addresses of the stack return from */
void hf_run_remember(const struct hf_detail_stack *stack, const uintptr_t *ends, const void *caller,
		     const void *frame);

/* ---- run_print.c ----------------------------------------------------------------------------- */

/* Where the profile goes: NULL or empty = standard error; a child's to FILE.PID. */
void hf_run_print_to(const char *file, bool is_first_process);
/* Writes the profile. Async-signal-safe. */
void hf_run_print_profile(void);

/* ---- run_signal.c, and run_start.c for it ----------------------------------------------- */

/* @request: the signal at which the profile is written meanwhile, 0 = none */
void hf_run_signals_start(int request);
/* Ends what is watched. Async-signal-safe, as is the next one. */
void hf_run_end_by_signal(void);
/* Writes the profile, and goes on. */
void hf_run_request(void);

/* Handles a signal in place of the default, unless it is ignored. */
void hf_run_take_over(int number);

/* ---- run_lost.c: pages that mapped files have lost -------------------------------------- */

/* @where: "" = reports go to standard error; "fail" = there, too; otherwise the file */
void hf_run_lost_start(const char *where);
/* Has a page been lost, and is the status to say so? */
bool hf_run_lost_fails(void);
/* The handler in place of the default; NULL = the default. */
void (*hf_run_lost_handler(int number))(int);
struct sigaction hf_run_lost_action(void);
/* The program has set a handler of its own. Async-signal-safe. */
void hf_run_lost_leaves(int number);

/* ---- run_validate.c --------------------------------------------------------------------- */

void hf_run_validate_start(void);
/* How many reports there were. */
uint32_t hf_run_validate_reports(void);

#endif

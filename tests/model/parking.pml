/* SPDX-License-Identifier: MIT */
/*
 * parking - an abstract model for SPIN of src/parking, src/mutex/mutex.c and src/cond/cond.c with three threads,
 * which is more than the checkers of the real code manage. Its steps have the names of their functions.
 * tests/model/parking_spin.py has its scenarios and mutants.
 *
 * Abstracted
 *   memory     the unlock's store waits in a buffer of its thread (one entry) until the thread's next read-modify-write, until a
 *              barrier of another thread, or for any time; all else is sequentially consistent, or under the bucket's lock
 *   the table  one bucket for the lock and the queue of the condition variable: the worst collision. A section under its lock
 *              is one step, except in a move to the lock's queue, which holds it for several. To take out the sole waiter, to
 *              read where it waits, and to count it no longer are three steps
 *   spinning   any number of polls: a thread may give up at once
 *   time       a deadline may pass at each moment; the sleep of a waiter behind others ends (W8), at most twice, when no
 *              thread can go on
 *
 * Parameters. WAITS is set for SPIN; the others, and the mutant, when the verifier runs (parking_parameters.h). Where SPIN meets
 * c_expr it keeps the values of variables that are no longer used: each has its first value then, so that states are equal
 *   WAITS 0    all lock and unlock
 *   WAITS 1    thread 2 sets a flag and wakes one, 2: all; the others wait for it. INSIDE: with the lock held
 *   TIMED n    the first n threads have a deadline
 *   REFUSED    the barrier may be refused
 *   ROOM       a thread's turn may be over (R)
 *   SPINS      a thread may spin before it parks to wait
 *   ONE_PROCESSOR  all threads ran on the same one; otherwise thread 1 did not
 *   MARKED     thread 2 has a mark from the first; a thread that waits has one from then on
 *   STOPS      thread 0 stops while it waits, without the lock: 1: in its sleep, 2: at any step. The others must end; then
 *              it goes on
 *
 *   WAITS 4    thread 2 holds two locks of the bucket, and unlocks both; threads 0 and 1 each want another one (Q6)
 *   WAITS 3    threads 0 and 1 signal each other in turns, with the lock held; thread 2 locks and unlocks. Each has a condition
 *              variable, and all share the bucket
 *
 * Checked: no thread has a lock that another one has; at the end no thread is parked; the condition variable is not touched after
 * all its waiters have returned.
 */
#define THREADS 3
#if WAITS == 4
#define LOCKS 2
#else
#define LOCKS 1
#endif
#define COND 2      /* the queue of the condition variable; 0 and 1: those of the locks */
#define IS_LOCK(where) ((where) < LOCKS)
#define COND_OF(t) (COND + (WAITS == 3 && (t) == 1)) /* where a thread waits */
#define NOWHERE 9
#define NOBODY 255

#define TIMED c_expr { is_TIMED }
#define REFUSED c_expr { is_REFUSED }
#define ROOM c_expr { is_ROOM }
#define SPINS c_expr { is_SPINS }
#define INSIDE c_expr { is_INSIDE }
#define MARKED c_expr { is_MARKED }
#define STOPS c_expr { is_STOPS }
#define STOPS_ANYWHERE c_expr { is_STOPS == 2 }
/* W8, only without signals, for the size of the searches: waiters that stop, and wake-ups that find no sleeper. */
#define HAS_W8 (WAITS == 0 || WAITS == 4)
#define MUTANT(name) c_expr { is_MUTANT_##name }

mtype = { NONE, SPINNING, PARKED, RELEASED, WAKING, HEAD, ABSENT };

/* The locks' words, and the stores of unlocks that other threads do not see yet. */
byte word[LOCKS];
bit buffered[THREADS];
byte buffered_lock[THREADS];

/* The bucket. */
byte need;
bit has_waiters, is_waking, is_awaited;
byte queue[THREADS], queued;
bit bucket_held;
/* Q9: those that have arrived, the oldest first. They are not in `queue` until somebody has the bucket's lock. */
byte arrived[THREADS], arrivals;
bit was_closed; /* when the last one arrived */
#define CLOSED (was_closed || bucket_held || queued != 0)

/* Each thread's waiter, and its sleep. */
mtype state[THREADS];
byte at[THREADS];
bit in_queue[THREADS];
bit marks[THREADS];         /* the thread has a mark, which its locks store */
bit has_mark[THREADS];      /* it holds the lock, whose word is its mark */
bit has_behind[THREADS];    /* W7: the other one of threads 0 and 1 is behind this one */
bit asleep[THREADS], woken[THREADS];
bit looks[THREADS];         /* it will check the lock before it sleeps (W1) */
bit sleeps_behind[THREADS]; /* its sleep ends by itself (W8) */
bit waits0, is_stopped, was_stopped, is_interrupted; /* STOPS: thread 0 */
byte rechecks, ended;
#define MAY_RECHECK (rechecks < 2 && (sleeps_behind[1] || sleeps_behind[2]))

byte waiters[2];            /* the condition variables' words */
#define COUNT(where) waiters[(where) - COND]
bit flag;
byte turn;
byte holder[LOCKS] = NOBODY; /* for the assertions only, as the next ones */
byte returned;
#define IS_GONE (returned == THREADS - 1)
#define PROCESSOR(t) ((t) & c_expr { !is_ONE_PROCESSOR })

#define BUCKET !bucket_held -> flush(_pid); admit()
#define MOVED_IS_WOKEN !MUTANT(MOVE)
#define NEEDS_WAKE(first) (first != NOBODY && state[first] != HEAD)

/* ---- memory --------------------------------------------------------------------------------- */

inline flush(t) { if :: buffered[t] -> word[buffered_lock[t]] = 0; buffered[t] = 0 :: else fi }
inline barrier_all()
{
	if :: MUTANT(BARRIER) :: else -> flush(0); flush(1); flush(2) fi
}

inline barrier_near()
{
	if :: MUTANT(NEAR) :: else -> barrier_all() fi
}

/* hf_detail_mutex_try_lock(): 0 -> 1, or the thread's mark */
inline try_lock(m, locked)
{
	d_step {
		flush(_pid);
		if
		:: word[m] == 0 -> word[m] = 1; locked = 1; has_mark[_pid] = marks[_pid]; assert(holder[m] == NOBODY); holder[m] = _pid
		:: else -> locked = 0
		fi
	}
}

/* hf_detail_mutex_set_free(): the store of the unlock */
inline set_free(m) { d_step { has_mark[_pid] = 0; flush(_pid); holder[m] = NOBODY; buffered[_pid] = 1; buffered_lock[_pid] = m } }

/* ---- a queue: under the bucket's lock -------------------------------------------------------- */

inline find(where, first)
{
	first = NOBODY; i = 0;
	do
	:: i < queued && first == NOBODY ->
		if :: at[queue[i]] == where && state[queue[i]] != ABSENT -> first = queue[i] :: else fi;
		i++
	:: else -> break
	od;
	i = 0
}
inline append(t) { queue[queued] = t; queued++ }
/* bucket_admit() */
inline admit()
{
	k = 0;
	do
	:: k < arrivals ->
		append(arrived[k]);
		if
		:: at[arrived[k]] == 0 -> /* moved to an empty queue, so the first one; those behind it are queued, too */
			has_waiters = 1;
			if
			:: has_behind[arrived[k]] ->
				has_behind[arrived[k]] = 0;
				at[1 - arrived[k]] = 0; append(1 - arrived[k])
			:: else
			fi
		:: else -> in_queue[arrived[k]] = 1
		fi;
		arrived[k] = 0; k++
	:: else -> break
	od;
	k = 0; arrivals = 0; was_closed = 0
}
inline arrive(t) { was_closed = (arrivals != 0 || CLOSED); arrived[arrivals] = t; arrivals++ }

/* SPINNING, PARKED -> RELEASED */
inline release(t, to_wake) { to_wake = (state[t] == SPINNING -> NOBODY : t); state[t] = RELEASED }
/* The futex: a wake-up reaches a thread that sleeps. */
inline wake(t) { if :: t != NOBODY && asleep[t] -> woken[t] = 1 :: else fi }

#define HAS_SOLE (arrivals == 1 && !CLOSED)
inline take_sole(only)
{
	only = NOBODY; flush(_pid);
	if
	:: HAS_SOLE -> only = arrived[0]; arrivals = 0; arrived[0] = 0; was_closed = 0
	:: else
	fi
}
#if WAITS == 2
#define IS_REPLACED(only) (only != NOBODY && has_behind[only] && !MUTANT(BEHIND))
#else
#define IS_REPLACED(only) (0)
#endif
/* W7: the one behind is counted before this one is not. */
inline replace_sole(only)
{
	has_behind[only] = 0; behind = 1 - only;
	move_sole(behind, is_moved);
	if :: is_moved :: else -> move_to_lock(behind) fi;
	is_moved = 0; behind = NOBODY
}
/* A waiter for something else is released. */
inline taken_at(where, only)
{
	if
	:: only != NOBODY ->
		if
		:: at[only] == 0 -> need--
		:: else -> assert(!IS_GONE); COUNT(at[only]) = COUNT(at[only]) - 1
		fi;
		if
		:: at[only] != where && !MUTANT(STRANGER) ->
			at[only] = NOWHERE; release(only, two); wake(two); two = NOBODY; only = NOBODY
		:: at[only] != where && MUTANT(STRANGER) -> at[only] = NOWHERE; only = NOBODY
		:: else -> at[only] = NOWHERE
		fi
	:: else
	fi
}
/* One step, if nobody is behind. */
inline take_sole_at(where, only)
{
	atomic { take_sole(only); if :: IS_REPLACED(only) :: else -> taken_at(where, only); is_done = 1 fi };
#if WAITS == 2
	if
	:: !is_done -> replace_sole(only); atomic { taken_at(where, only) }
	:: else
	fi;
#endif
	is_done = 0
}
inline take_out(t)
{
	i = 0; j = 0;
	do
	:: i < queued -> if :: queue[i] != t -> queue[j] = queue[i]; j++ :: else fi; i++
	:: else -> break
	od;
	queued = j; at[t] = NOWHERE; i = 0; j = 0
}

inline bucket_update(m, needed)
{
	find(m, second);
	if
	:: NEEDS_WAKE(second) && !needed -> need++
	:: !NEEDS_WAKE(second) && needed -> need--
	:: else
	fi;
	if
	:: second == NOBODY -> has_waiters = 0; is_waking = 0; is_awaited = 0
	:: second != NOBODY && state[second] == WAKING && (need == 1 || MUTANT(ONE)) -> has_waiters = 1; is_waking = 1
	:: else -> has_waiters = 1; is_waking = 0
	fi;
	second = NOBODY
}
inline enqueue(t, m, if_first, is_first)
{
	find(m, first);
	is_first = (first == NOBODY); needed = NEEDS_WAKE(first);
	at[t] = m; state[t] = (is_first -> if_first : PARKED);
	append(t);
	bucket_update(m, needed);
	first = NOBODY; needed = 0
}
/* PARKED -> WAKING */
inline mark_first_waking(m, to_wake)
{
	find(m, first); to_wake = NOBODY;
	if
	:: first != NOBODY && state[first] == PARKED -> state[first] = WAKING; bucket_update(m, 1); to_wake = first
	:: else
	fi;
	first = NOBODY
}
/* HEAD -> PARKED, WAKING -> HEAD; ABSENT -> @to as the first, PARKED behind others */
inline set_head(m, to, is_now_first)
{
	find(m, first);
	if
	:: first == _pid ->
		needed = NEEDS_WAKE(_pid); state[_pid] = to; bucket_update(m, needed); needed = 0; is_now_first = 1
	:: first != _pid && state[_pid] == ABSENT -> take_out(_pid); enqueue(_pid, m, to, is_now_first)
	:: first != _pid && state[_pid] != ABSENT -> is_now_first = 0
	fi;
	first = NOBODY
}
/* W8: WAKING, HEAD -> ABSENT of `first` */
inline pass_over(m, to_wake)
{
	needed = NEEDS_WAKE(first); state[first] = ABSENT; is_awaited = 0; bucket_update(m, needed); needed = 0;
	mark_first_waking(m, to_wake)
}
/* Wakes `one`. If it does not sleep, the others must not rely on it. */
#if HAS_W8
inline wake_first(m)
{
	do
	:: one != NOBODY ->
		atomic {
			if :: asleep[one] && !woken[one] -> woken[one] = 1; one = NOBODY :: else fi
		};
		if
		:: one != NOBODY ->
			atomic {
				BUCKET; find(m, first);
				if
				:: first == one && state[first] == WAKING && !looks[first] && !MUTANT(ABSENT) -> pass_over(m, one)
				:: else -> one = NOBODY
				fi;
				first = NOBODY
			}
		:: else
		fi
	:: else -> break
	od
}
#else
inline wake_first(m) { atomic { wake(one); one = NOBODY } }
#endif

/* R: the first waiter is woken and stays, another one is released. */
inline find_successor(m, found, to_wake)
{
	to_wake = NOBODY; found = 0;
	find(m, first);
	if
	:: first != NOBODY && PROCESSOR(first) == PROCESSOR(_pid) && !is_awaited -> /* wakes the first one */
		mark_first_waking(m, to_wake); is_awaited = 1; found = 1
	:: first != NOBODY && !(PROCESSOR(first) == PROCESSOR(_pid) && !is_awaited) ->
		i = 0; next = NOBODY;
		do
		:: i < queued && next == NOBODY ->
			if
			:: at[queue[i]] == m && queue[i] != first && state[queue[i]] == PARKED && PROCESSOR(queue[i]) == PROCESSOR(_pid) -> next = queue[i]
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		if
		:: next != NOBODY -> take_out(next); state[next] = RELEASED; to_wake = next; found = 1
		:: else
		fi
	:: else
	fi;
	first = NOBODY; next = NOBODY
}

/* ---- unlock ---------------------------------------------------------------------------------- */

/* Releases sole waiters until one of them was asleep. */
#if HAS_W8
inline release_sole(m, was_sole)
{
	was_sole = 0;
	do
	:: !was_sole ->
		take_sole_at(m, next);
		if
		:: next != NOBODY ->
			atomic { release(next, one); next = NOBODY };
			atomic { was_sole = (asleep[one] && !woken[one]) || MUTANT(ABSENT); wake(one); one = NOBODY }
		:: else -> break
		fi
	:: else -> break
	od
}
#else
inline release_sole(m, was_sole)
{
#if WAITS != 2
	atomic {
#endif
	take_sole_at(m, next);
	atomic { was_sole = (next != NOBODY); if :: was_sole -> release(next, one) :: else fi; next = NOBODY };
#if WAITS != 2
	};
#endif
	atomic { wake(one); one = NOBODY }
}
#endif
inline unpark_first(m)
{
	release_sole(m, was_first);
	if
	:: was_first
	:: else -> atomic { BUCKET; mark_first_waking(m, one) }; wake_first(m)
	fi;
	was_first = 0
}

/* hf_detail_mutex_release(), hf_detail_mutex_unlock_slow() */
inline unlock(m)
{
	set_free(m);
	if
	:: need == 0
	:: need != 0 ->
		if
		:: is_waking /* W5 */
		:: !is_waking -> unpark_first(m)
		fi
	fi
}

/* ---- waiting for a lock ---------------------------------------------------------------------- */

/* The futex's wait, while the state is PARKED. @is_behind: behind others, so that the sleep ends (W8). */
inline park(timed, certain, is_behind, is_late)
{
	is_late = 0;
	atomic {
		if :: state[_pid] == PARKED -> asleep[_pid] = 1; woken[_pid] = 0; sleeps_behind[_pid] = is_behind && STOPS_ANYWHERE
		:: else
		fi
	};
	if
	:: atomic { _pid == 0 && is_interrupted -> is_interrupted = 0 } /* by a signal: looks at the state again */
	:: asleep[_pid] ->
		if
		:: atomic { woken[_pid] -> woken[_pid] = 0; asleep[_pid] = 0 }
		:: atomic { timed -> asleep[_pid] = 0; woken[_pid] = 0; is_late = 1 }
		:: atomic { !certain -> asleep[_pid] = 0; woken[_pid] = 0 } /* the recheck of W1 */
		:: atomic { _pid == 0 && is_interrupted -> is_interrupted = 0 }
		:: atomic { timeout && sleeps_behind[_pid] && rechecks < 2 -> asleep[_pid] = 0; rechecks++ }
		fi
	:: else
	fi;
	sleeps_behind[_pid] = 0
}
/* recheck_first() */
inline recheck_first(m, relies)
{
	atomic {
		BUCKET; find(m, first); two = NOBODY; relies = 0;
		if
		:: first != NOBODY && first != _pid && (state[first] != PARKED || looks[first]) && !MUTANT(RECHECK) -> two = first; pass_over(m, one)
		:: else -> relies = (first != _pid && !MUTANT(RECHECK))
		fi;
		first = NOBODY
	};
	atomic { wake(two); two = NOBODY };
	wake_first(m)
}
#if HAS_W8
#define LOOKS(will) looks[_pid] = will
#define WAITS0(is) if :: STOPS && _pid == 0 -> waits0 = is :: else fi
#else
#define LOOKS(will)
#define WAITS0(is)
#endif

#define LOCKED 1
#define TIMED_OUT 2
#define WAS_RELEASED 3

inline wait_to_lock(m, timed, result)
{
	result = 0; alone = 0;
	WAITS0(1);
	do
	:: result == 0 ->
		do
		:: state[_pid] == PARKED && result == 0 ->
			certain = 1;
			if
			:: alone ->
				LOOKS(1);
				if
				:: atomic { barrier_all(); certain = 1 } /* W1 */
				:: atomic { REFUSED -> certain = 0 }
				fi;
				try_lock(m, locked);
				if :: locked -> result = LOCKED; break :: else fi
			:: else
			fi;
			LOOKS(0);
			park(timed, certain, !alone, late);
			if :: late -> result = TIMED_OUT; break :: else fi;
#if HAS_W8
			if
			:: STOPS_ANYWHERE && !alone && state[_pid] == PARKED ->
				recheck_first(m, late);
				if :: late && !MUTANT(RETRY) -> try_lock(m, locked) :: else fi;
				late = 0;
				if :: locked -> result = LOCKED; break :: else fi
			:: else
			fi
#endif
		:: state[_pid] == RELEASED && result == 0 -> result = WAS_RELEASED; break
		:: (state[_pid] == WAKING || state[_pid] == HEAD || state[_pid] == ABSENT) && result == 0 ->
			/* spin_as_head(), then HEAD -> PARKED */
			try_lock(m, locked);
			if :: locked -> result = LOCKED; break :: else fi;
			if :: timed -> result = TIMED_OUT; break :: skip fi;
			atomic { BUCKET; if :: state[_pid] == WAKING || state[_pid] == ABSENT -> set_head(m, HEAD, alone) :: else fi };
			try_lock(m, locked);
			if :: locked -> result = LOCKED; break :: else fi;
			LOOKS(1); /* while it is PARKED and does not sleep */
			atomic { BUCKET; set_head(m, PARKED, alone) };
			break
		:: result != 0 -> break
		od
	:: result != 0 -> break
	od;
	if :: result == TIMED_OUT -> try_lock(m, locked); if :: locked -> result = LOCKED :: else fi :: else fi;
	WAITS0(0);
	finish_wait(m, result);
	state[_pid] = NONE; LOOKS(0); alone = 0; late = 0; certain = 1; locked = 0
}

inline finish_wait(m, result)
{
	if
	:: result == WAS_RELEASED
	:: else ->
		atomic {
			BUCKET;
			if
			:: state[_pid] == RELEASED
			:: else ->
				find(m, first);
				was_first = (first == _pid); needed = NEEDS_WAKE(first); take_out(_pid);
				find(m, first); one = NOBODY;
				if
				:: first != NOBODY && was_first && result != LOCKED && !MUTANT(W4) -> one = first; state[first] = WAKING
				:: else
				fi;
				if
				:: MUTANT(W3) && result == LOCKED -> need = need - needed; needed = 0
				:: else -> bucket_update(m, needed)
				fi;
				if :: was_first -> is_awaited = 0 :: else fi;
				first = NOBODY; needed = 0; was_first = 0
			fi
		};
		wake_first(m)
	fi
}

/* hf_detail_mutex_lock(), hf_detail_mutex_lock_contended(), hf_detail_park_to_lock() */
inline lock(m, timed, got)
{
	got = 0;
	try_lock(m, got);
	do
	:: got -> break
	:: !got ->
		exchanged = 0;
		if
		:: ROOM && has_waiters ->
			atomic { BUCKET; find_successor(m, exchanged, one); if :: exchanged -> enqueue(_pid, m, HEAD, is_first) :: else fi };
			wake_first(m)
		:: skip
		fi;
		if
		:: !exchanged ->
			try_lock(m, got);
			if :: got -> break :: else fi;
			atomic { BUCKET; enqueue(_pid, m, HEAD, is_first) }
		:: else
		fi;
		exchanged = 0; is_first = 0;
		wait_to_lock(m, timed, got);
		if
		:: got == LOCKED -> break
		:: got == TIMED_OUT -> got = 0; break
		:: got == WAS_RELEASED -> got = 0; try_lock(m, got)
		fi
	od
}

/* ---- waiting for a signal -------------------------------------------------------------------- */

/* W6: a waiter of this thread's processor stays PARKED, for the unlock to wake. */
inline move_to_lock(t)
{
	atomic { BUCKET; bucket_held = 1; enqueue(t, 0, PARKED, is_first); certain = 0 };
	if
	:: is_first && PROCESSOR(t) == PROCESSOR(_pid) ->
		if
		:: atomic { barrier_near(); certain = 1 }
		:: REFUSED
		fi
	:: else
	fi;
	atomic {
		flush(_pid);
		if
		:: is_first && !(certain && word[0]) && MOVED_IS_WOKEN -> mark_first_waking(0, one)
		:: is_first && certain && word[0] && queued == 1 && arrivals == 0 -> /* publish_sole_waiter() */
			take_out(t); at[t] = 0; has_waiters = 0; is_waking = 0; is_awaited = 0;
			bucket_held = 0; arrive(t)
		:: else
		fi;
		bucket_held = 0; is_first = 0; certain = 1
	};
	wake_first(0)
}

#define IS_NEAR(t) (PROCESSOR(t) == PROCESSOR(_pid))
#define MOVES(t) (state[t] == PARKED && word[0] && (IS_NEAR(t) || has_waiters))

inline move_sole(t, done)
{
	done = 0;
	if
	:: !(arrivals != 0 || CLOSED) ->
		need = need + !MUTANT(NEED);
		atomic {
			flush(_pid);
			if
			:: !(arrivals != 0 || CLOSED) -> at[t] = 0; arrive(t); done = 1
			:: else -> need--
			fi
		}
	:: else
	fi
}

/* hf_detail_park_to_wait() at the condition variable, with lock 0; signalled 0 = timed out */
inline park_to_wait(timed, signalled)
{
	signalled = 1;
	marks[_pid] = 1;
	COUNT(COND_OF(_pid)) = COUNT(COND_OF(_pid)) + 1;
	atomic {
		flush(_pid);
		in_queue[_pid] = 0; at[_pid] = COND_OF(_pid); arrive(_pid);
		if
		:: state[_pid] = PARKED; spins = 0
		:: SPINS -> state[_pid] = SPINNING; spins = 1
		fi
	};
	if /* unlock_to_wait() */
	:: spins -> unlock(0)
	:: else ->
		set_free(0);
		if
		:: need == 0 && !has_waiters
		:: need != 0 || has_waiters -> /* hf_detail_unpark_and_leave() */
			release_sole(0, was_first);
			if
			:: was_first
			:: else ->
				atomic {
					BUCKET; mark_first_waking(0, one);
					if :: ROOM -> find_successor(0, exchanged, two) :: else fi
				};
				wake_first(0);
				atomic { one = two; two = NOBODY; exchanged = 0 };
				wake_first(0)
			fi;
			was_first = 0
		fi
	fi;
	/* spin_until_released(): SPINNING -> PARKED, unless it was released */
	atomic { if :: state[_pid] == SPINNING -> state[_pid] = PARKED; exchanged = 1 :: else -> exchanged = 0 fi; spins = 0 };
	if /* leave_processor() */
	:: ROOM && exchanged && has_waiters ->
		atomic { BUCKET; find_successor(0, exchanged, one) };
		wake_first(0)
	:: else
	fi;
	exchanged = 0;
	WAITS0(1);
	do
	:: state[_pid] == PARKED ->
		park(timed && !exchanged, 1, 0, late);
		if
		:: late -> /* leave_queue(); if that fails, the next sleep has no end */
			atomic {
				BUCKET;
				exchanged = !in_queue[_pid] && !MUTANT(LEAVE);
				if
				:: !exchanged ->
					take_out(_pid); assert(!IS_GONE); state[_pid] = NONE;
					COUNT(COND_OF(_pid)) = COUNT(COND_OF(_pid)) - 1
				:: else
				fi
			};
			late = 0;
			if :: exchanged :: else -> signalled = 0; break fi
		:: else
		fi
	:: else -> break
	od;
	exchanged = 0;
	WAITS0(0);
	if
	:: !signalled || state[_pid] == RELEASED -> state[_pid] = NONE; result = WAS_RELEASED
	:: else -> wait_to_lock(0, 0, result)
	fi;
	if
	:: result == WAS_RELEASED ->
		try_lock(0, got);
		if :: got :: else -> lock(0, 0, got) fi;
		got = 0
	:: else
	fi;
	result = 0
}

/* take_first(): of a condition variable's queue */
inline take_first(where, first_waiter)
{
	find(where, first_waiter);
	if
	:: first_waiter == NOBODY
	:: else -> take_out(first_waiter); in_queue[first_waiter] = 0
	fi
}

/* wake_one(), of a waiter that was taken out */
inline wake_one(t)
{
	atomic { exchanged = MOVES(t); if :: exchanged :: else -> release(t, one) fi };
	atomic { wake(one); one = NOBODY };
	if
	:: exchanged ->
		late = 0;
		if :: IS_NEAR(t) && (has_mark[_pid] || MUTANT(MARK)) -> move_sole(t, late) :: else fi;
		if :: late :: else -> move_to_lock(t) fi;
		late = 0; exchanged = 0
	:: else
	fi
}

inline unpark_one(where)
{
	take_sole_at(where, other);
	if
	:: other != NOBODY
	:: else ->
		atomic {
			BUCKET; take_first(where, other);
			if :: other == NOBODY :: else -> assert(!IS_GONE); COUNT(where) = COUNT(where) - 1 fi
		}
	fi;
	if :: other != NOBODY -> wake_one(other) :: else fi;
	other = NOBODY
}

inline unpark_all(where)
{
	take_sole_at(where, other);
	if
	:: other != NOBODY -> wake_one(other)
	:: else ->
		atomic {
			BUCKET; take_first(where, other); next = other;
			do
			:: next != NOBODY -> assert(!IS_GONE); COUNT(where) = COUNT(where) - 1; moved = moved | (1 << next); take_first(where, next)
			:: else -> break
			od
		};
		atomic { if :: other != NOBODY && word[0] == 0 -> moved = moved & ~(1 << other); release(other, one) :: else fi };
		atomic { wake(one); one = NOBODY };
		atomic { if :: (moved & 1) && state[0] == SPINNING -> moved = moved & ~1; state[0] = RELEASED :: else fi };
		atomic { if :: (moved & 2) && state[1] == SPINNING -> moved = moved & ~2; state[1] = RELEASED :: else fi };
		d_step { assert(!MUTANT(TOUCH) || !IS_GONE); late = 0 };
		if
		:: moved == 3 && IS_NEAR(0) && IS_NEAR(1) && has_mark[_pid] -> /* may_move_in_turn() */
			has_behind[other] = 1;
			move_sole(other, late);
			if :: late :: else -> has_behind[other] = 0 fi
		:: else
		fi;
		if :: (moved & 1) && !late -> move_to_lock(0) :: else fi;
		if :: (moved & 2) && !late -> move_to_lock(1) :: else fi;
		late = 0
	fi;
	moved = 0; other = NOBODY
}

/* ---- the threads ----------------------------------------------------------------------------- */

active [THREADS] proctype thread() provided (!(is_stopped && _pid == 0))
{
	byte i = 0, j = 0, k = 0, first = NOBODY, second = NOBODY, next = NOBODY, other = NOBODY, one = NOBODY, two = NOBODY, behind = NOBODY;
	byte got = 0, locked = 0, result = 0, moved = 0;
	bit needed = 0, exchanged = 0, is_first = 0, was_first = 0, alone = 0, certain = 1, late = 0, signalled = 0, spins = 0, is_moved = 0, is_done = 0;
	bit timed = 0;

	at[_pid] = NOWHERE;
	d_step { marks[_pid] = MARKED && _pid == THREADS - 1; timed = _pid < TIMED };
#if WAITS == 0
	lock(0, timed, got);
	if :: got -> unlock(0) :: else fi;
	got = 0
#elif WAITS == 4
	if
	:: _pid == THREADS - 1 -> lock(0, 0, got); lock(1, 0, got); unlock(0); unlock(1)
	:: _pid == 0 -> lock(0, 0, got); unlock(0)
	:: _pid == 1 -> lock(1, 0, got); unlock(1)
	fi;
	got = 0
#elif WAITS == 3
	lock(0, 0, got);
	if
	:: _pid == 0 -> turn = 1; if :: COUNT(COND_OF(1)) -> unpark_one(COND_OF(1)) :: else fi
	:: else
	fi;
	do
	:: _pid < 2 && turn != _pid -> park_to_wait(0, signalled)
	:: else -> break
	od;
	if
	:: _pid == 1 -> turn = 0; if :: COUNT(COND_OF(0)) -> unpark_one(COND_OF(0)) :: else fi
	:: else
	fi;
	unlock(0);
	got = 0
#else
	if
	:: _pid == THREADS - 1 ->
		lock(0, 0, got);
		flag = 1;
		if :: INSIDE :: else -> unlock(0) fi;
		if :: COUNT(COND) == 0 :: else ->
#if WAITS == 1
			unpark_one(COND)
#else
			unpark_all(COND)
#endif
		fi;
		if :: INSIDE -> unlock(0) :: else fi
	:: else ->
		lock(0, 0, got);
		do
		:: !flag -> park_to_wait(timed, signalled)
		:: else -> break
		od;
#if WAITS == 1
		if :: COUNT(COND) != 0 -> unpark_one(COND) :: else fi; /* passes it on: a lost signal would leave somebody asleep */
#else
		if :: signalled -> returned++ :: else fi; /* the last one frees the condition variable */
#endif
		unlock(0)
	fi;
	got = 0
#endif
	;
end_of_thread:
	atomic { flush(_pid); ended++ }
}

/* A store becomes visible at any time. */
active proctype processors()
{
end:	do
	:: atomic { buffered[0] -> flush(0) }
	:: atomic { buffered[1] -> flush(1) }
	:: atomic { buffered[2] -> flush(2) }
	:: atomic { /* a signal handler, a debugger: thread 0 sleeps elsewhere */
		STOPS && !was_stopped && waits0 && holder[0] != 0 && !bucket_held && ((asleep[0] && !woken[0]) || STOPS_ANYWHERE) ->
			is_stopped = 1; was_stopped = 1;
			if :: asleep[0] && !woken[0] -> asleep[0] = 0; is_interrupted = 1 :: else fi
	  }
	:: atomic { is_stopped && timeout && !MAY_RECHECK -> assert(ended == THREADS - 1); is_stopped = 0 }
	od
}

/* SPDX-License-Identifier: MIT */
/*
 * lockref_cases - what every lockref does, and what it makes of misuse.
 *
 * No include guard: lockref_cases.c includes this for each implementation, with
 *
 *   V(verb), CASE(name), SUITE    as battery.h says
 *   ALWAYS_LOCKS                  1 = every verb waits for the lock, so none may be asked while
 *                                 the case holds it
 */

/* Makes it dead, with a lock that is free. */
static void CASE(dead)(hf_lockref_t *l)
{
	hf_lockref_init(l, 1);
	hf_lockref_lock(l);
	hf_lockref_mark_dead(l);
	hf_lockref_unlock(l);
}

/* Is the lock half free, and does it work? Asked at the end of a case. */
static void CASE(lock_is_free)(hf_lockref_t *l)
{
	int32_t count = hf_lockref_read(l);

	if (!BATTERY_TRUE(hf_lockref_trylock(l)))
		return;
	BATTERY_TRUE(!hf_lockref_trylock(l));
	hf_lockref_unlock(l);
	BATTERY_EQ(hf_lockref_read(l), count);
}

static void CASE(layout)(void)
{
	struct {
		char before;
		hf_lockref_t l;
		char after;
	} padded;

	BATTERY_EQ(sizeof(hf_lockref_t), 8);
	BATTERY_EQ(__alignof__(hf_lockref_t), 8);
	BATTERY_EQ((uintptr_t)&padded.l % 8, 0);
	BATTERY_EQ(sizeof(padded), 24);
}

static void CASE(init)(void)
{
	static hf_lockref_t shared = HF_LOCKREF_INIT(3);
	static const int32_t counts[] = { 0, 1, 2, HF_LOCKREF_MAX };
	hf_lockref_t l;

	BATTERY_EQ(hf_lockref_read(&shared), 3);
	CASE(lock_is_free)(&shared);
	for (unsigned int i = 0; i < BATTERY_COUNT(counts); i++) {
		hf_lockref_init(&l, counts[i]);
		BATTERY_EQ(hf_lockref_read(&l), counts[i]);
		BATTERY_TRUE(!hf_lockref_is_dead(&l));
		CASE(lock_is_free)(&l);
	}
	BATTERY_QUIET();
}

/* The lock half excludes, and leaves the count alone; its holder may store the count. */
static void CASE(lock)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(5);

	hf_lockref_lock(&l);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	BATTERY_EQ(hf_lockref_read(&l), 5);
	hf_lockref_set_count(&l, 9);
	BATTERY_EQ(hf_lockref_read(&l), 9);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_EQ(hf_lockref_read(&l), 9);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(get)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);

	V(get)(&l);
	BATTERY_EQ(hf_lockref_read(&l), 2);
	V(get)(&l);
	BATTERY_EQ(hf_lockref_read(&l), 3);
	hf_lockref_init(&l, 0);
	V(get)(&l);
	BATTERY_EQ(hf_lockref_read(&l), 1);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(get_not_zero)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(0);

	BATTERY_TRUE(!V(get_not_zero)(&l));
	BATTERY_EQ(hf_lockref_read(&l), 0);
	hf_lockref_init(&l, 1);
	BATTERY_TRUE(V(get_not_zero)(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	CASE(dead)(&l);
	BATTERY_TRUE(!V(get_not_zero)(&l));
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(get_not_dead)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(0);

	BATTERY_TRUE(V(get_not_dead)(&l));
	BATTERY_EQ(hf_lockref_read(&l), 1);
	BATTERY_TRUE(V(get_not_dead)(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	CASE(dead)(&l);
	BATTERY_TRUE(!V(get_not_dead)(&l));
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(put_return)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);

	BATTERY_EQ(V(put_return)(&l), 1);
	BATTERY_EQ(hf_lockref_read(&l), 1);
	BATTERY_EQ(V(put_return)(&l), 0);
	BATTERY_EQ(hf_lockref_read(&l), 0);
	BATTERY_EQ(V(put_return)(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), 0);
	CASE(lock_is_free)(&l);
	CASE(dead)(&l);
	BATTERY_EQ(V(put_return)(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

#if !ALWAYS_LOCKS
static void CASE(put_return_locked)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(2);

	hf_lockref_lock(&l);
	BATTERY_EQ(V(put_return)(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), 2);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_EQ(V(put_return)(&l), 1);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}
#endif

/* false = the lock is held, and the count as it was. */
static void CASE(put_or_lock)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(3);

	BATTERY_TRUE(V(put_or_lock)(&l));
	BATTERY_EQ(hf_lockref_read(&l), 2);
	CASE(lock_is_free)(&l);
	BATTERY_TRUE(V(put_or_lock)(&l));
	BATTERY_EQ(hf_lockref_read(&l), 1);
	CASE(lock_is_free)(&l);

	if (!BATTERY_TRUE(!V(put_or_lock)(&l)))
		return;
	BATTERY_EQ(hf_lockref_read(&l), 1);
	if (BATTERY_TRUE(!hf_lockref_trylock(&l)))
		hf_lockref_unlock(&l);

	hf_lockref_init(&l, 0);
	if (!BATTERY_TRUE(!V(put_or_lock)(&l)))
		return;
	BATTERY_EQ(hf_lockref_read(&l), 0);
	if (BATTERY_TRUE(!hf_lockref_trylock(&l)))
		hf_lockref_unlock(&l);

	CASE(dead)(&l);
	if (!BATTERY_TRUE(!V(put_or_lock)(&l)))
		return;
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	if (BATTERY_TRUE(!hf_lockref_trylock(&l)))
		hf_lockref_unlock(&l);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

/* The whole of a life: the last put decides under the lock, and nobody finds it afterwards. */
static void CASE(last_put)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(1);

	BATTERY_TRUE(V(get_not_dead)(&l));
	BATTERY_TRUE(V(put_or_lock)(&l));
	if (!BATTERY_TRUE(!V(put_or_lock)(&l)))
		return;
	hf_lockref_mark_dead(&l);
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	BATTERY_TRUE(!V(get_not_dead)(&l));
	BATTERY_TRUE(!V(get_not_zero)(&l));
	BATTERY_EQ(V(put_return)(&l), -1);
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_DEAD);
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(mark_dead)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(4);

	BATTERY_TRUE(!hf_lockref_is_dead(&l));
	hf_lockref_lock(&l);
	hf_lockref_mark_dead(&l);
	BATTERY_EQ(hf_lockref_read(&l), -128);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	BATTERY_TRUE(!hf_lockref_trylock(&l));
	hf_lockref_unlock(&l);
	BATTERY_EQ(hf_lockref_read(&l), -128);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(mark_dead_unlocked)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(4);

	hf_lockref_mark_dead(&l);
	BATTERY_EQ(hf_lockref_read(&l), 4);
	BATTERY_TRUE(!hf_lockref_is_dead(&l));
	CASE(lock_is_free)(&l);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_UNLOCKED, &l);
}

/* At INT32_MAX it is pinned: neither gets nor puts move it, and only the gets are misuse. */
static void CASE(get_overflow)(void)
{
	hf_lockref_t l = HF_LOCKREF_INIT(HF_LOCKREF_MAX - 2);

	V(get)(&l);
	BATTERY_EQ(hf_lockref_read(&l), HF_LOCKREF_MAX - 1);
	BATTERY_EQ(V(put_return)(&l), HF_LOCKREF_MAX - 2);
	BATTERY_QUIET();

	hf_lockref_init(&l, HF_LOCKREF_MAX);
	V(get)(&l);
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
	BATTERY_TRUE(V(get_not_zero)(&l));
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);
	BATTERY_TRUE(V(get_not_dead)(&l));
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_OVF, &l);

	BATTERY_EQ(V(put_return)(&l), INT32_MAX);
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_TRUE(V(put_or_lock)(&l));
	BATTERY_EQ(hf_lockref_read(&l), INT32_MAX);
	BATTERY_TRUE(!hf_lockref_is_dead(&l));
	CASE(lock_is_free)(&l);
	BATTERY_QUIET();
}

static void CASE(get_dead)(void)
{
	hf_lockref_t l;

	CASE(dead)(&l);
	BATTERY_QUIET();
	V(get)(&l);
	BATTERY_TRUE(hf_lockref_is_dead(&l));
	BATTERY_TRUE(!V(get_not_dead)(&l));
	CASE(lock_is_free)(&l);
	BATTERY_REPORTED(HF_REPORT_LOCKREF_DEAD, &l);
}

/* Dead is for ever: so many gets on a dead object do not bring it back to life. */
static void CASE(get_dead_again)(void)
{
	hf_lockref_t l;

	CASE(dead)(&l);
	for (int i = 0; i < 1000; i++) {
		V(get)(&l);
		if (!BATTERY_TRUE(hf_lockref_is_dead(&l)) || !BATTERY_TRUE(!V(get_not_dead)(&l)))
			break;
	}
	CASE(lock_is_free)(&l);
	BATTERY_TRUE(hf_report_count(HF_REPORT_LOCKREF_DEAD) > 1);
	battery_forget();
}

static const struct battery_case CASE(cases)[] = {
	{ "LAYOUT", CASE(layout) },
	{ "INIT", CASE(init) },
	{ "LOCK", CASE(lock) },
	{ "GET", CASE(get) },
	{ "GET_NOT_ZERO", CASE(get_not_zero) },
	{ "GET_NOT_DEAD", CASE(get_not_dead) },
	{ "PUT_RETURN", CASE(put_return) },
#if !ALWAYS_LOCKS
	{ "PUT_RETURN_LOCKED", CASE(put_return_locked) },
#endif
	{ "PUT_OR_LOCK", CASE(put_or_lock) },
	{ "LAST_PUT", CASE(last_put) },
	{ "MARK_DEAD", CASE(mark_dead) },
	{ "MARK_DEAD_UNLOCKED", CASE(mark_dead_unlocked) },
	{ "GET_OVERFLOW", CASE(get_overflow) },
	{ "GET_DEAD", CASE(get_dead) },
	{ "GET_DEAD_AGAIN", CASE(get_dead_again) },
};

const struct battery_suite CASE(suite) = { SUITE, CASE(cases), BATTERY_COUNT(CASE(cases)) };

#undef V
#undef CASE
#undef SUITE
#undef ALWAYS_LOCKS

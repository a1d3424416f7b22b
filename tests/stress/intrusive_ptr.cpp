/* SPDX-License-Identifier: MIT */
/*
 * intrusive_ptr - objects with plain data, owned by pointers that threads copy, swap and drop.
 *
 *   slots     a table of pointers, each slot with a spinlock. Threads copy from it, write their own
 *             part of the object, put new objects into it, and drop. The destructor sees all parts.
 *   weak      a table of plain pointers, under a mutex. Lookups retain_not_zero; an object takes
 *             itself out in its destructor, and so may be found meanwhile, dead.
 *   lockref   a cache whose entries rest, are revived, die and are reborn; its last put decides under
 *             the lock, and writes plain data.
 *
 * The data has no atomics: ThreadSanitizer sees what the counts order, AddressSanitizer what is gone.
 */
#include "stress.h"

#include <mutex>

#include "holdfast/intrusive_ptr.h"
#include "holdfast/lockref_counted.h"
#include "holdfast/mutex.h"
#include "holdfast/spinlock.h"

namespace
{

const int THREADS = 4;
const int MILLISECONDS = 200; /* each of them */

std::atomic<uint64_t> made(0), freed(0);

/* ---- slots ---------------------------------------------------------------------------------- */

struct shared : hf::refcounted<shared> {
	shared() { made++; }
	~shared()
	{
		for (uint64_t part : parts)
			stress::check(part % 3 == 0, "slots", "a part is torn");
		freed++;
	}
	uint64_t parts[THREADS] = {}; /* each thread's own */
};

struct slot {
	hf::spinlock lock;
	hf::intrusive_ptr<shared> object;
};

void slots()
{
	std::vector<slot> table(4);
	hf::intrusive_ptr<shared> own[THREADS];

	made = freed = 0;
	for (auto &slot : table)
		slot.object = hf::make_intrusive<shared>();
	auto n = stress::run_for<1>(THREADS, MILLISECONDS, [&](int me, auto &random, auto &n) {
		slot &slot = table[random.below(4)];
		hf::intrusive_ptr<shared> &mine = own[me];
		uint32_t way = random.below(4);

		n[0]++;
		if (way == 0) { /* the old object is dropped outside of the lock */
			auto fresh = hf::make_intrusive<shared>();
			{
				std::lock_guard<hf::spinlock> hold(slot.lock);

				slot.object.swap(fresh);
				mine.swap(fresh);
			}
		} else if (way < 3) {
			std::lock_guard<hf::spinlock> hold(slot.lock);

			if (way == 1)
				mine = slot.object;
			else if (mine)
				slot.object = mine;
		}
		if (mine) {
			hf::intrusive_ptr<const shared> reader = mine;

			mine->parts[me] += 3;
			if (random.below(8) == 0)
				mine.reset();
			stress::check(reader->parts[me] % 3 == 0, "slots", "a torn part");
		}
	});

	table.clear();
	for (auto &mine : own)
		mine.reset();
	stress::same(made, "made", freed, "freed", "slots");
	stress::did("intrusive_ptr", "slots", n[0]);
}

/* ---- weak ----------------------------------------------------------------------------------- */

const uint32_t NAMES = 3;
hf::mutex names_lock;
struct named *names[NAMES]; /* no references: an object takes itself out when it dies */

struct named : hf::refcounted<named> {
	explicit named(uint32_t name) : name(name), not_name(~name) { made++; }
	~named()
	{
		std::lock_guard<hf::mutex> hold(names_lock);

		if (names[name] == this) /* else there is another one of this name already */
			names[name] = nullptr;
		not_name = 0;
		freed++;
	}
	uint32_t name, not_name;
};

void weak()
{
	enum { OPERATIONS, DEAD, COUNTS };

	made = freed = 0;
	auto n = stress::run_for<COUNTS>(THREADS, MILLISECONDS, [&](int, auto &random, auto &n) {
		uint32_t name = random.below(NAMES);
		hf::intrusive_ptr<named> found;
		{
			std::lock_guard<hf::mutex> hold(names_lock);

			found = hf::intrusive_ptr<named>(names[name], hf::retain_not_zero);
			if (!found) {
				n[DEAD] += names[name] != nullptr;
				found = hf::make_intrusive<named>(name);
				names[name] = found.get();
			}
		}
		stress::check(found->name == name && found->not_name == ~name, "weak",
			      "another object");
		hf::intrusive_ptr<named> copy = found;
		found.reset();
		n[OPERATIONS]++;
	});

	stress::same(made, "made", freed, "freed", "weak");
	for (auto *name : names)
		stress::check(!name, "weak", "a name is left");
	stress::did("intrusive_ptr", "weak", n[OPERATIONS], { { "found dead", n[DEAD] } });
}

/* ---- lockref -------------------------------------------------------------------------------- */

struct HF_ALIGNED(128) entry : hf::lockref_counted<entry> {
	entry() : lockref_counted(0) {}
	void last_put() noexcept
	{
		last_puts++;
		stress::check(life == last_life, "lockref", "a life ended twice");
		if (last_puts % 4 == 0)
			mark_dead();
		else
			set_count(0);
		unlock();
	}
	/* Dead: one of those who find that begins the next life, under the lock. */
	void reborn() noexcept
	{
		hf::guard<hf::lockref> hold(*this);

		if (!is_dead())
			return;
		last_life = ++life;
		set_count(0);
	}
	uint64_t life = 1, last_life = 1, last_puts = 0; /* written under the lock */
	uint64_t marks[THREADS] = {};                    /* each thread's own, with a reference */
};

void lockref()
{
	enum { OPERATIONS, GETS, COUNTS };
	std::vector<entry> cache(3);
	auto n = stress::run_for<COUNTS>(THREADS, MILLISECONDS, [&](int me, auto &random, auto &n) {
		entry *candidate = &cache[random.below(3)];

		n[OPERATIONS]++;
		hf::intrusive_ptr<entry> found{ candidate, hf::retain_not_dead };
		if (!found)
			return candidate->reborn();
		n[GETS]++;
		if (random.below(2)) {
			hf::intrusive_ptr<entry> copy = found;

			found.reset();
			copy->marks[me]++;
		} else {
			hf::guard<hf::lockref> hold(*found);

			stress::check(found->life == found->last_life, "lockref",
				      "between two lives");
		}
	});
	uint64_t lives = 0;

	for (auto &entry : cache) {
		stress::check(entry.read() == 0 || entry.is_dead(), "lockref",
			      "%d references are left", entry.read());
		lives += entry.life;
	}
	stress::did("lockref_counted", "lockref", n[OPERATIONS],
		    { { "gets", n[GETS] }, { "lives", lives } });
}

} // namespace

int main()
{
	stress::begin();
	slots();
	weak();
	lockref();
	stress::no_reports("intrusive_ptr");
	return stress::result();
}

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
			stress::check(part % 3 == 0, "slots", "a part is %llu",
				      static_cast<unsigned long long>(part));
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
	std::atomic<uint64_t> operations(0);

	made = freed = 0;
	for (auto &slot : table)
		slot.object = hf::make_intrusive<shared>();
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		hf::intrusive_ptr<shared> mine;
		uint64_t done = 0;

		do {
			slot &slot = table[random.below(4)];

			switch (random.below(4)) {
			case 0: { /* the old object is dropped outside of the lock */
				auto fresh = hf::make_intrusive<shared>();
				std::lock_guard<hf::spinlock> hold(slot.lock);

				slot.object.swap(fresh);
				mine = std::move(fresh);
				break;
			}
			case 1: {
				std::lock_guard<hf::spinlock> hold(slot.lock);

				mine = slot.object;
				break;
			}
			case 2: {
				std::lock_guard<hf::spinlock> hold(slot.lock);

				if (mine)
					slot.object = mine;
				break;
			}
			default:
				break;
			}
			if (mine) {
				hf::intrusive_ptr<const shared> reader = mine;

				mine->parts[me] += 3;
				if (random.below(8) == 0)
					mine.reset();
				stress::check(reader->parts[me] % 3 == 0, "slots", "a torn part");
			}
			done++;
		} while (!end.passed());
		operations += done;
	});
	table.clear();
	stress::check(made == freed, "slots", "made %llu, freed %llu",
		      static_cast<unsigned long long>(made),
		      static_cast<unsigned long long>(freed));
	stress::did("intrusive_ptr", "slots", operations);
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
	std::atomic<uint64_t> operations(0), dead(0);

	made = freed = 0;
	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		uint64_t done = 0;

		do {
			uint32_t name = random.below(NAMES);
			hf::intrusive_ptr<named> found;
			{
				std::lock_guard<hf::mutex> hold(names_lock);

				found = hf::intrusive_ptr<named>(names[name], hf::retain_not_zero);
				if (!found) {
					dead += names[name] != nullptr;
					found = hf::make_intrusive<named>(name);
					names[name] = found.get();
				}
			}
			stress::check(found->name == name && found->not_name == ~name, "weak",
				      "another object");
			hf::intrusive_ptr<named> copy = found;
			found.reset();
			done++;
		} while (!end.passed());
		operations += done;
	});
	stress::check(made == freed, "weak", "made %llu, freed %llu",
		      static_cast<unsigned long long>(made),
		      static_cast<unsigned long long>(freed));
	for (auto *name : names)
		stress::check(!name, "weak", "a name is left");
	char more[60];
	std::snprintf(more, sizeof(more), ", %llu found dead",
		      static_cast<unsigned long long>(dead.load()));
	stress::did("intrusive_ptr", "weak", operations, more);
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
	std::vector<entry> cache(3);
	std::atomic<uint64_t> operations(0), gets(0);

	stress::run_threads(THREADS, [&](int me) {
		stress::deadline end(MILLISECONDS);
		stress::random random(me);
		uint64_t done = 0, got = 0;

		do {
			entry *candidate = &cache[random.below(3)];

			if (hf::intrusive_ptr<entry> found{ candidate, hf::retain_not_dead }) {
				got++;
				if (random.below(2)) {
					hf::intrusive_ptr<entry> copy = found;

					found.reset();
					copy->marks[me]++;
				} else {
					hf::guard<hf::lockref> hold(*found);

					stress::check(found->life == found->last_life, "lockref",
						      "between two lives");
				}
			} else {
				candidate->reborn();
			}
			done++;
		} while (!end.passed());
		operations += done;
		gets += got;
	});
	uint64_t lives = 0;
	for (auto &entry : cache) {
		stress::check(entry.read() == 0 || entry.is_dead(), "lockref",
			      "%d references are left", entry.read());
		lives += entry.life;
	}
	char more[60];
	std::snprintf(more, sizeof(more), ", %llu gets, %llu lives",
		      static_cast<unsigned long long>(gets.load()),
		      static_cast<unsigned long long>(lives));
	stress::did("lockref_counted", "lockref", operations, more);
}

} // namespace

int main()
{
	stress::begin();
	slots();
	weak();
	lockref();
	for (int kind = 0; kind < HF_REPORT_KINDS; kind++) {
		uint32_t n = hf_report_count(static_cast<enum hf_report_kind>(kind));

		stress::check(n == 0, "intrusive_ptr", "%u reports of good use: %s", n,
			      hf_report_text(static_cast<enum hf_report_kind>(kind)));
	}
	return stress::result();
}

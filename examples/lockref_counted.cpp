/* SPDX-License-Identifier: MIT */
/*
 * lockref_counted - the cache of names of lockref.c, in C++. A lookup takes a reference without a
 * lock, and intrusive_ptr drops it. The last put decides under the entry's lock whether the entry
 * stays in the cache, unused, or dies.
 */
#include <cstdio>

#include <holdfast/lockref_counted.h>

#include "must.h"

namespace
{

class entry : public hf::lockref_counted<entry> {
public:
	explicit entry(int name) : lockref_counted(0), name(name) {} /* unused */

	/* Called with the lock held and the last reference: lookups get none until the unlock. */
	void last_put() noexcept HF_RELEASE()
	{
		hf::guard<hf::lockref> hold(*this, hf::adopt);

		if (forget_)
			mark_dead();
		else
			set_count(0);
	}
	/* Don't keep the entry when it is unused. */
	void forget()
	{
		hf::guard<hf::lockref> hold(*this);

		forget_ = true;
	}
	const int name;

private:
	bool forget_ = false; /* protected by the lock */
};

/* Never freed: a lookup may access an entry that has just died, and then returns null. */
entry cache[] = { entry(100), entry(101), entry(102), entry(103) };

/* Null = not in the cache. An unused entry can be used again, a dead one can not. */
hf::intrusive_ptr<entry> lookup(int name)
{
	for (entry &candidate : cache) {
		if (candidate.name != name)
			continue;
		if (hf::intrusive_ptr<entry> found{ &candidate, hf::retain_not_dead })
			return found;
	}
	return nullptr;
}

} // namespace

int main()
{
	{
		auto one = lookup(102), same = lookup(102);

		std::printf("in use: %d references\n", (int)one->read());
		must(one == same && one->read() == 2);
	} /* both are dropped */
	std::printf("unused: %d references, is dead: %d\n", (int)cache[2].read(),
		    cache[2].is_dead());
	must(cache[2].read() == 0 && !cache[2].is_dead());

	lookup(102)->forget(); /* the temporary has the last reference and drops it at the end */
	std::printf("forgotten: is dead: %d; found: %d\n", cache[2].is_dead(),
		    lookup(102) != nullptr);
	must(cache[2].is_dead() && !lookup(102) && !lookup(999));
	return 0;
}

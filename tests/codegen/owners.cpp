/* SPDX-License-Identifier: MIT */
/*
 * owners - operations of hf::intrusive_ptr to be counted: a copy compiles to a load, a null test, a
 * store and the inline inc; a move has no atomic instruction; a drop is a null test and an
 * inline put.
 */
#include <holdfast/intrusive_ptr.h>

#include "owners.h"

/* <new> has it, but a cross compiler may lack the C++ library. */
inline void *operator new(size_t, void *place) noexcept
{
	return place;
}

namespace
{

struct with_free {
	template <class T>
	void operator()(T *object) const noexcept
	{
		object_free(object);
	}
};

struct object : hf::refcounted<object, with_free> {};
using pointer = hf::intrusive_ptr<object>;

static_assert(sizeof(object) == sizeof(hf_refcount_t), "paths.c takes the object for its count");

} // namespace

struct pair {
	pointer first, second;
};

void owner_copy_default(void *pair)
{
	new (&static_cast<struct pair *>(pair)->second)
		pointer(static_cast<struct pair *>(pair)->first);
}

void owner_move_default(void *pair)
{
	struct pair *both = static_cast<struct pair *>(pair);

	new (&both->second) pointer(static_cast<pointer &&>(both->first));
}

void owner_move_back(void *pair)
{
	struct pair *both = static_cast<struct pair *>(pair);

	new (&both->first) pointer(static_cast<pointer &&>(both->second));
}

void owner_drop_default(void *pair)
{
	static_cast<struct pair *>(pair)->second.~pointer();
}

void owner_drop_last_default(void *pair)
{
	static_cast<struct pair *>(pair)->first.~pointer();
}

/* SPDX-License-Identifier: MIT */
/*
 * owners - what hf::intrusive_ptr makes of the verbs: a copy is a load, a test for null, a store and the
 * inline inc; a move has no atomic instruction; a drop is a test for null and the inline put.
 */
extern "C" {
#include "paths.h"
}

#include <holdfast/intrusive_ptr.h>

/* Without a C++ library, whose <new> would have it. */
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

static_assert(sizeof(object) == sizeof(hf_refcount_t), "as drive.c has it");

} // namespace

void owner_copy(void *to, const void *from)
{
	new (to) pointer(*static_cast<const pointer *>(from));
}

void owner_move(void *to, void *from)
{
	new (to) pointer(static_cast<pointer &&>(*static_cast<pointer *>(from)));
}

void owner_drop(void *from)
{
	static_cast<pointer *>(from)->~pointer();
}

/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_UNIT_ROSTERS_H
#define HF_TESTS_UNIT_ROSTERS_H
/*
 * rosters - the types that tests of a whole family are run with, made from the families' rosters.
 *
 * Commas stand between the types of a list, and not behind the last. So each row of a roster begins
 * with one, and the list with void:
 *
 *   #define ROW(name, NAME, bytes, nodes) , hf::spinlock_##name
 *   using locks = unit::types<void HF_SPINLOCK_ROSTER(ROW)>;
 *
 * unit::types leaves void out. A row that does not belong in a list is void, too.
 */
#include "unit.h"

#include <type_traits>

#include "holdfast/spinlock.h"

namespace unit
{

template <class... Kept>
struct kept {
	using types = testing::Types<Kept...>;
	template <class T>
	using and_also = std::conditional_t<std::is_void_v<T>, kept<Kept...>, kept<Kept..., T>>;
};

template <class Kept, class... Rest>
struct without_void {
	using types = typename Kept::types;
};

template <class Kept, class First, class... Rest>
struct without_void<Kept, First, Rest...>
	: without_void<typename Kept::template and_also<First>, Rest...> {
};

/* types - testing::Types of all that are not void. */
template <class... Some>
using types = typename without_void<kept<>, Some...>::types;

#define ANY(name, NAME, bytes, nodes) , hf::spinlock_##name
#define NODES(name, NAME, bytes, nodes) , std::conditional_t<nodes, hf::spinlock_##name, void>
#define NO_NODES(name, NAME, bytes, nodes) , std::conditional_t<nodes, void, hf::spinlock_##name>

using spinlocks = types<void HF_SPINLOCK_ROSTER(ANY)>;
using spinlocks_with_nodes = types<void HF_SPINLOCK_ROSTER(NODES)>;
using spinlocks_without_nodes = types<void HF_SPINLOCK_ROSTER(NO_NODES)>;

#undef ANY
#undef NODES
#undef NO_NODES

} // namespace unit

#endif

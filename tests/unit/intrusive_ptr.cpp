/* SPDX-License-Identifier: MIT */
/* intrusive_ptr - which pointer owns a reference after each operation; deleters; hooks. */
#include "unit.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>

#include "holdfast/intrusive_ptr.h"

namespace foreign
{

/* A struct of C with operations of its own, whose count begins at 0. */
struct thing {
	int count = 0;
	int freed = 0;
};

inline void intrusive_ptr_add_ref(thing *t)
{
	t->count++;
}
inline void intrusive_ptr_release(thing *t)
{
	if (--t->count == 0)
		t->freed++;
}

} // namespace foreign

namespace
{

struct page : hf::refcounted<page> {
	explicit page(int *gone, int number = 0) : gone(gone), number(number) {}
	page(const page &) = default;
	page &operator=(const page &) = default;
	~page() { ++*gone; }
	int *gone;
	int number;
};
using page_ptr = hf::intrusive_ptr<page>;

static_assert(sizeof(page_ptr) == sizeof(void *), "one word");
static_assert(std::is_nothrow_move_constructible_v<page_ptr>, "");
static_assert(std::is_nothrow_copy_constructible_v<page_ptr>, "");
static_assert(std::is_nothrow_move_assignable_v<page_ptr>, "");
static_assert(!std::is_convertible_v<page *, page_ptr>, "adopt or retain");
static_assert(!std::is_constructible_v<page_ptr, page *>, "adopt or retain");
static_assert(std::is_convertible_v<page_ptr, hf::intrusive_ptr<const page>>, "");
static_assert(!std::is_convertible_v<hf::intrusive_ptr<const page>, page_ptr>, "");
static_assert(!std::is_convertible_v<page_ptr, bool>, "");
static_assert(!std::is_convertible_v<page_ptr, hf::intrusive_ptr<foreign::thing>>, "");
static_assert(!std::is_convertible_v<page_ptr, int>, "");
static_assert(!std::is_assignable_v<page_ptr, page *>, "adopt or retain");
static_assert(!std::is_destructible_v<hf::refcounted<page>>, "not freed by hand as its base");

TEST(IntrusivePtr, EachOwnerHasOneReference)
{
	unit::reports reports;
	int gone = 0;
	page_ptr first = hf::make_intrusive<page>(&gone, 7);

	EXPECT_EQ(first->references(), 1);
	EXPECT_EQ((*first).number, 7);
	{
		page_ptr copy = first, assigned;

		EXPECT_EQ(first->references(), 2);
		assigned = copy;
		EXPECT_EQ(first->references(), 3);
		page_ptr &self = assigned;
		assigned = self;
		EXPECT_EQ(first->references(), 3);
		page_ptr moved = std::move(copy);
		EXPECT_EQ(first->references(), 3);
		EXPECT_FALSE(copy); // NOLINT: that is what moving leaves
		EXPECT_TRUE(moved);
		moved = std::move(assigned);
		EXPECT_EQ(first->references(), 2);
		page *same = moved.get();
		page_ptr &alias = moved;
		moved = std::move(alias);
		EXPECT_EQ(moved.get(), same);
		EXPECT_EQ(first->references(), 2);
	}
	EXPECT_EQ(first->references(), 1);
	EXPECT_EQ(gone, 0);
	first = hf::make_intrusive<page>(&gone);
	EXPECT_EQ(gone, 1);
	first.reset();
	EXPECT_EQ(gone, 2);
	EXPECT_EQ(first, nullptr);
	first.reset();
	EXPECT_EQ(gone, 2);
	EXPECT_EQ(reports.total(), 0u);
}

TEST(IntrusivePtr, AdoptTakesOverAndRetainAdds)
{
	int gone = 0;
	page *raw = new page(&gone);
	page_ptr adopted(raw, hf::adopt);

	EXPECT_EQ(raw->references(), 1);
	{
		hf::intrusive_ptr retained(raw, hf::retain);

		EXPECT_EQ(raw->references(), 2);
	}
	EXPECT_EQ(adopted.detach(), raw);
	EXPECT_FALSE(adopted);
	EXPECT_EQ(raw->references(), 1);
	EXPECT_EQ(gone, 0);
	page_ptr(raw, hf::adopt).reset();
	EXPECT_EQ(gone, 1);
	EXPECT_FALSE(page_ptr(static_cast<page *>(nullptr), hf::adopt));
	EXPECT_FALSE(page_ptr(static_cast<page *>(nullptr), hf::retain));
	EXPECT_FALSE(page_ptr(static_cast<page *>(nullptr), hf::retain_not_zero));
}

/* This deleter keeps the object, with a count of 0. */
struct keep {
	template <class T>
	void operator()(T *object) const noexcept
	{
		object->kept++;
	}
};
struct pooled : hf::refcounted<pooled, keep> {
	int kept = 0;
};

TEST(IntrusivePtr, DeleterAndNotZero)
{
	unit::reports reports;
	pooled object;

	{
		hf::intrusive_ptr<pooled> owner(&object, hf::adopt);
		hf::intrusive_ptr<const pooled> found(&object, hf::retain_not_zero);

		ASSERT_TRUE(found);
		EXPECT_EQ(object.references(), 2);
		owner.reset();
		EXPECT_EQ(object.kept, 0);
	}
	EXPECT_EQ(object.kept, 1);
	EXPECT_EQ(object.references(), 0);
	EXPECT_FALSE(hf::intrusive_ptr<pooled>(&object, hf::retain_not_zero));
	EXPECT_EQ(object.references(), 0);
	EXPECT_EQ(reports.total(), 0u);
}

TEST(IntrusivePtr, TooManyOwnersLeakTheObject)
{
	unit::reports reports;
	pooled object;
	hf::intrusive_ptr<pooled> owner(&object, hf::adopt);

	hf_refcount_set(object.native_handle(), HF_REFCOUNT_MAX);
	{
		hf::intrusive_ptr<pooled> one_too_many = owner;

		EXPECT_TRUE(reports.one(HF_REPORT_ADD_OVF, object.native_handle()));
		EXPECT_EQ(object.references(), HF_REFCOUNT_SATURATED);
	}
	owner.reset();
	EXPECT_EQ(object.kept, 0);
}

struct immortal : hf::refcounted<immortal> {
	constexpr immortal() : refcounted(HF_REFCOUNT_IMMORTAL) {}
};
immortal always_there;
immortal *volatile in_a_table = &always_there; /* gcc would warn of a delete that never happens */

TEST(IntrusivePtr, StaticObjectsAreNeverFreed)
{
	unit::reports reports;

	for (int i = 0; i < 3; i++)
		hf::intrusive_ptr<immortal>(in_a_table, hf::adopt).reset();
	EXPECT_EQ(always_there.references(), HF_REFCOUNT_IMMORTAL);
	EXPECT_EQ(reports.total(), 0u);
}

TEST(IntrusivePtr, TheCountIsTheObjectsNotItsValues)
{
	int gone = 0;
	page_ptr a = hf::make_intrusive<page>(&gone, 1), again = a;
	page_ptr b = hf::make_intrusive<page>(*a);

	EXPECT_EQ(b->references(), 1);
	EXPECT_EQ(b->number, 1);
	b->number = 2;
	*a = *b;
	EXPECT_EQ(a->number, 2);
	EXPECT_EQ(a->references(), 2);
	EXPECT_EQ(b->references(), 1);
}

TEST(IntrusivePtr, Const)
{
	int gone = 0;
	page_ptr writer = hf::make_intrusive<page>(&gone, 3);
	hf::intrusive_ptr<const page> reader = writer;

	EXPECT_EQ(reader->references(), 2);
	writer = hf::const_pointer_cast<page>(reader);
	EXPECT_EQ(reader->references(), 2);
	writer.reset();
	EXPECT_EQ(gone, 0);
	reader = nullptr; /* the last one, through const */
	EXPECT_EQ(gone, 1);
}

struct shape : hf::refcounted<shape> {
	virtual ~shape() = default;
};
struct circle : shape {
	explicit circle(int *gone) : gone(gone) {}
	~circle() override { ++*gone; }
	int *gone;
};
struct square : shape {};
static_assert(!std::is_assignable_v<hf::intrusive_ptr<circle>, hf::intrusive_ptr<shape>>, "");

TEST(IntrusivePtr, Classes)
{
	int gone = 0;
	hf::intrusive_ptr<circle> round = hf::make_intrusive<circle>(&gone);
	hf::intrusive_ptr<shape> any = round;

	EXPECT_EQ(any->references(), 2);
	EXPECT_TRUE(any == round);
	any = std::move(round);
	EXPECT_FALSE(round); // NOLINT
	EXPECT_EQ(any->references(), 1);

	EXPECT_FALSE(hf::dynamic_pointer_cast<square>(any));
	EXPECT_EQ(any->references(), 1);
	EXPECT_FALSE(hf::dynamic_pointer_cast<square>(std::move(any)));
	EXPECT_EQ(gone, 1); /* it was moved into the cast, which owned it */

	any = hf::make_intrusive<circle>(&gone);
	round = hf::dynamic_pointer_cast<circle>(any);
	EXPECT_EQ(any->references(), 2);
	round = hf::static_pointer_cast<circle>(std::move(any));
	EXPECT_EQ(round->references(), 1);
	EXPECT_FALSE(any); // NOLINT
	any = hf::const_pointer_cast<shape>(hf::intrusive_ptr<const shape>(round));
	round.reset();
	EXPECT_EQ(gone, 1);
	any.reset();
	EXPECT_EQ(gone, 2);
}

TEST(IntrusivePtr, Comparisons)
{
	int gone = 0;
	page_ptr a = hf::make_intrusive<page>(&gone), b = hf::make_intrusive<page>(&gone), none;
	hf::intrusive_ptr<const page> same = a;

	EXPECT_TRUE(a == same && same == a && !(a != same));
	EXPECT_TRUE(a != b && !(a == b));
	EXPECT_TRUE(a == a.get() && a.get() == a && a != b.get() && b.get() != a);
	EXPECT_TRUE(none == nullptr && nullptr == none && a != nullptr && nullptr != a);
	EXPECT_NE(a < b, b < a);
	EXPECT_EQ(a<b, b> a);
	EXPECT_TRUE(a <= a && a >= a && none < a && a > none);
	EXPECT_EQ(a <= b, !(a > b));

	std::unordered_set<page_ptr, page_ptr::hash> set{ a, b, a };
	EXPECT_EQ(set.size(), 2u);
	EXPECT_EQ(set.count(page_ptr(b)), 1u);
	std::vector<page_ptr> sorted{ b, a, none, b };
	std::sort(sorted.begin(), sorted.end());
	EXPECT_EQ(sorted[0], none);
	swap(a, b);
	EXPECT_EQ(same, b);
	a.swap(b);
	EXPECT_EQ(same, a);
}

TEST(IntrusivePtr, HooksOfAnotherType)
{
	foreign::thing thing;

	{
		hf::intrusive_ptr<foreign::thing> first(&thing, hf::retain), second = first;

		EXPECT_EQ(thing.count, 2);
		first = nullptr;
		EXPECT_EQ(thing.freed, 0);
	}
	EXPECT_EQ(thing.freed, 1);
}

/* A constructor that throws leaks nothing; AddressSanitizer would report it. */
struct throwing : hf::refcounted<throwing> {
	throwing() { throw std::runtime_error("no"); }
};

TEST(IntrusivePtr, AConstructorThatThrows)
{
	EXPECT_THROW((void)hf::make_intrusive<throwing>(), std::runtime_error);
}

} // namespace

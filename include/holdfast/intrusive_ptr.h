/* SPDX-License-Identifier: MIT */
#ifndef HF_INTRUSIVE_PTR_H
#define HF_INTRUSIVE_PTR_H
#pragma GCC system_header
/*
 * intrusive_ptr - a C++ pointer that owns a reference, and a base class with the count.
 *
 * Use when / not when
 *   For C++ objects that several owners share, with the count in the object: a pointer is one word,
 *   an object one allocation, and a plain pointer can be turned into an owning one. Not for objects
 *   with one owner: std::unique_ptr. Not where weak references are needed: std::shared_ptr. Not for
 *   cycles: they are never freed. Two threads may own one object, but not use one intrusive_ptr at
 *   once unless both only read it, as with all of the standard library's pointers.
 *
 * Operations
 *   hf::refcounted<T>                   base class of T: a refcount that begins with one reference
 *   hf::make_intrusive<T>(...)          new T(...), and a pointer that owns its first reference
 *   hf::intrusive_ptr<T>(p, how)        how: hf::adopt, take over a reference that the caller has;
 *                                       hf::retain, one more; hf::retain_not_zero, one more or null
 *   copy, move, destroy                 one more; none; one less, and the last frees the object
 *   get, *, ->, bool, reset, swap       as std::shared_ptr. detach: the caller gets the reference
 *   static_, const_, dynamic_pointer_cast, ==, <, hash besides
 *
 * Example     examples/intrusive_ptr.cpp
 *
 * Whose count    An intrusive_ptr calls these functions, which it finds in T's namespace or T's
 *                base (argument-dependent lookup). refcounted<T> has the first three. Any other
 *                type, such as a C struct with its own get and put, must have those that are used:
 *
 *     void intrusive_ptr_add_ref(T *)             one more, by an owner
 *     void intrusive_ptr_release(T *)             one less; frees the object if it was the last
 *     bool intrusive_ptr_add_ref_not_zero(T *)    one more, unless there is none: retain_not_zero
 *     bool intrusive_ptr_add_ref_not_dead(T *)    one more unless it is dead: lockref_counted.h
 *
 *                Types written for boost::intrusive_ptr have the first two, and work unchanged; if
 *                their count begins at 0, make the first pointer by retain, not by adopt.
 *
 * Freeing        The last owner's thread calls Deleter()(T *): delete, unless refcounted's second
 *                parameter names another class. A class derived from T is deleted as a T: T then
 *                has a virtual destructor, or the program does not compile.
 *
 * Ordering    none, also of copies; acquire of retain_not_zero if not null. Dropping a reference is
 *             a release, and the last one an acquire before the object is freed
 *
 * Errors      those of the refcount: too many owners saturate the count (ADD_OVF), and the object
 *             is never freed. A reference taken in the object's own destructor is ADD_UAF.
 *
 * Source      docs/design/0033-cxx-ownership.md
 */
#include "lock_class.h"
#include "refcount.h"

#ifdef __cplusplus
HF_BEGIN_CXX

/* One more reference: of an object that has one; unless its count is 0; unless it is dead. */
struct retain_t {
	explicit retain_t() = default;
};
struct retain_not_zero_t {
	explicit retain_not_zero_t() = default;
};
struct retain_not_dead_t {
	explicit retain_not_dead_t() = default;
};
inline constexpr retain_t retain{};
inline constexpr retain_not_zero_t retain_not_zero{};
inline constexpr retain_not_dead_t retain_not_dead{};

/* The default Deleter of refcounted<T>. */
struct delete_object {
	template <class T>
	void operator()(T *object) const noexcept
	{
		delete object;
	}
};

/*
 * refcounted - base class of T: class page : public hf::refcounted<page> { ... };
 *
 * Deleter: a class without members, called with the object when its last reference is dropped.
 */
template <class T, class Deleter = delete_object>
class refcounted {
public:
	/* As hf_refcount_read(): the answer may be stale. */
	int32_t references() const noexcept { return hf_refcount_read(&refs_); }
	hf_refcount_t *native_handle() const noexcept { return &refs_; }

protected:
	/* One reference, which make_intrusive or adopt takes over. */
	HF_DETAIL_CONSTEXPR refcounted() noexcept : refs_ HF_REFCOUNT_INIT(1) {}
	/* As hf_refcount_set(): HF_REFCOUNT_IMMORTAL for a static object that is never freed. */
	HF_DETAIL_CONSTEXPR explicit refcounted(int32_t references) noexcept
		: refs_ HF_REFCOUNT_INIT(static_cast<uint32_t>(references))
	{
	}
	/* A copy has one reference of its own, and an assignment changes none. */
	HF_DETAIL_CONSTEXPR refcounted(const refcounted &) noexcept : refcounted() {}
	refcounted &operator=(const refcounted &) noexcept { return *this; }
	~refcounted() = default;

private:
	mutable hf_refcount_t refs_;

	friend void intrusive_ptr_add_ref(const refcounted *object) noexcept
	{
		hf_refcount_inc(&object->refs_);
	}
	friend bool intrusive_ptr_add_ref_not_zero(const refcounted *object) noexcept
	{
		return hf_refcount_inc_not_zero_acquire(&object->refs_);
	}
	friend void intrusive_ptr_release(const refcounted *object) noexcept
	{
		if (hf_refcount_dec_and_test(&object->refs_))
			last_put(object);
	}
	/*
	 * Out of line, and opaque to the compiler, which would otherwise assume that each put may
	 * be the last, and warn of other owners' uses after it.
	 */
	__attribute__((__noinline__)) static void last_put(const refcounted *object) noexcept
	{
		Deleter()(const_cast<T *>(static_cast<const T *>(object)));
	}
};

/* May a T that is a refcounted<Base, Deleter> be deleted as a Base? Other types have hooks. */
template <bool may>
struct hf_detail_freed_as {
	static constexpr bool well = may;
};
template <class T, class Base, class Deleter>
hf_detail_freed_as<true> hf_detail_freed(const T *, const refcounted<Base, Deleter> *);
template <class T, class Base>
hf_detail_freed_as<__is_base_of(T, Base) || __has_virtual_destructor(Base)>
hf_detail_freed(const T *, const refcounted<Base, delete_object> *);
template <class T>
hf_detail_freed_as<true> hf_detail_freed(const T *, const volatile void *);

/* For overload resolution: does a pointer to U convert to one to T? */
template <class T>
constexpr bool hf_detail_is_a(T *)
{
	return true;
}

/* intrusive_ptr - owns one reference of a T, or is null. */
template <class T>
class intrusive_ptr {
public:
	using element_type = T;

	constexpr intrusive_ptr() noexcept : object_(nullptr) {}
	constexpr intrusive_ptr(decltype(nullptr)) noexcept : object_(nullptr) {}

	/* Takes over the caller's reference. `object` may be null, here and below. */
	intrusive_ptr(T *object, adopt_t) noexcept : object_(object) {}
	/* Takes another reference; the object must have one already. */
	intrusive_ptr(T *object, retain_t) noexcept : object_(object)
	{
		if (object)
			intrusive_ptr_add_ref(object);
	}
	/* The object's memory is valid. Null = its count was 0. */
	intrusive_ptr(T *object, retain_not_zero_t) noexcept
		: object_(object && intrusive_ptr_add_ref_not_zero(object) ? object : nullptr)
	{
	}
	/* For lockrefs, which survive a count of 0. The memory is valid. Null = it is dead. */
	intrusive_ptr(T *object, retain_not_dead_t) noexcept
		: object_(object && intrusive_ptr_add_ref_not_dead(object) ? object : nullptr)
	{
	}
	/* State whether it comes with a reference: hf::adopt or hf::retain. */
	template <class U>
	intrusive_ptr(U *) = delete;

	intrusive_ptr(const intrusive_ptr &from) noexcept : intrusive_ptr(from.object_, retain) {}
	intrusive_ptr(intrusive_ptr &&from) noexcept : object_(from.detach()) {}
	template <class U, bool = hf_detail_is_a<T>(static_cast<U *>(nullptr))>
	intrusive_ptr(const intrusive_ptr<U> &from) noexcept : intrusive_ptr(from.get(), retain)
	{
	}
	template <class U, bool = hf_detail_is_a<T>(static_cast<U *>(nullptr))>
	intrusive_ptr(intrusive_ptr<U> &&from) noexcept : object_(from.detach())
	{
	}
	/* By value: a copy, a move, null, or a pointer to a class derived from T. */
	intrusive_ptr &operator=(intrusive_ptr from) noexcept
	{
		swap(from);
		return *this;
	}
	~intrusive_ptr()
	{
		static_assert(
			decltype(hf_detail_freed(static_cast<T *>(nullptr),
						 static_cast<T *>(nullptr)))::well,
			"it would be deleted as its base class, which has no virtual destructor");
		if (object_)
			intrusive_ptr_release(object_);
	}

	T *get() const noexcept { return object_; }
	T &operator*() const noexcept { return *object_; }
	T *operator->() const noexcept { return object_; }
	explicit operator bool() const noexcept { return object_ != nullptr; }

	void reset() noexcept { intrusive_ptr().swap(*this); }
	void swap(intrusive_ptr &with) noexcept
	{
		T *object = object_;

		object_ = with.object_;
		with.object_ = object;
	}
	friend void swap(intrusive_ptr &a, intrusive_ptr &b) noexcept { a.swap(b); }
	/* Passes the reference to the caller: for hf::adopt, or a C interface. */
	[[nodiscard]] T *detach() noexcept
	{
		T *object = object_;

		object_ = nullptr;
		return object;
	}

	/* For std::unordered_set<P, P::hash>. */
	struct hash {
		size_t operator()(const intrusive_ptr &p) const noexcept
		{
			return reinterpret_cast<uintptr_t>(p.get());
		}
	};

private:
	T *object_;
};

/*
 * make_intrusive - new T(arguments...), owned by the pointer
 *
 * T is a refcounted<...> whose deleter frees what new made.
 */
template <class T, class... Arguments>
[[nodiscard]] inline intrusive_ptr<T> make_intrusive(Arguments &&...arguments)
{
	return intrusive_ptr<T>(new T(static_cast<Arguments &&>(arguments)...), adopt);
}

/* Casts, as those of std::shared_ptr: the result owns a new reference, or from's if moved. */
template <class T, class U>
[[nodiscard]] inline intrusive_ptr<T> static_pointer_cast(intrusive_ptr<U> from) noexcept
{
	return intrusive_ptr<T>(static_cast<T *>(from.detach()), adopt);
}
template <class T, class U>
[[nodiscard]] inline intrusive_ptr<T> const_pointer_cast(intrusive_ptr<U> from) noexcept
{
	return intrusive_ptr<T>(const_cast<T *>(from.detach()), adopt);
}
/* Null = the object is not a T. */
template <class T, class U>
[[nodiscard]] inline intrusive_ptr<T> dynamic_pointer_cast(intrusive_ptr<U> from) noexcept
{
	T *object = dynamic_cast<T *>(from.get());

	if (!object)
		return nullptr;
	(void)from.detach();
	return intrusive_ptr<T>(object, adopt);
}

/* By address: of two pointers, or of one and a plain pointer or null. */
#define HF_DETAIL_EQUALITY(op)                                                                     \
	template <class T, class U>                                                                \
	inline bool operator op(const intrusive_ptr<T> &a, const intrusive_ptr<U> &b) noexcept     \
	{                                                                                          \
		return a.get() op b.get();                                                         \
	}                                                                                          \
	template <class T, class U>                                                                \
	inline bool operator op(const intrusive_ptr<T> &a, U *b) noexcept                          \
	{                                                                                          \
		return a.get() op b;                                                               \
	}                                                                                          \
	template <class T, class U>                                                                \
	inline bool operator op(T *a, const intrusive_ptr<U> &b) noexcept                          \
	{                                                                                          \
		return a op b.get();                                                               \
	}                                                                                          \
	template <class T>                                                                         \
	inline bool operator op(const intrusive_ptr<T> &a, decltype(nullptr)) noexcept             \
	{                                                                                          \
		return a.get() op nullptr;                                                         \
	}                                                                                          \
	template <class T>                                                                         \
	inline bool operator op(decltype(nullptr), const intrusive_ptr<T> &b) noexcept             \
	{                                                                                          \
		return b.get() op nullptr;                                                         \
	}

/* A total order, also of objects that are not of one array. */
#define HF_DETAIL_ORDER(op)                                                                        \
	template <class T, class U>                                                                \
	inline bool operator op(const intrusive_ptr<T> &a, const intrusive_ptr<U> &b) noexcept     \
	{                                                                                          \
		return reinterpret_cast<uintptr_t>(a.get())                                        \
			op reinterpret_cast<uintptr_t>(b.get());                                   \
	}

HF_DETAIL_EQUALITY(==)
HF_DETAIL_EQUALITY(!=)
HF_DETAIL_ORDER(<)
HF_DETAIL_ORDER(>)
HF_DETAIL_ORDER(<=)
HF_DETAIL_ORDER(>=)

#undef HF_DETAIL_EQUALITY
#undef HF_DETAIL_ORDER

HF_END_CXX
#endif

#endif

/* SPDX-License-Identifier: MIT */
#ifndef HF_REGION_CLASS_H
#define HF_REGION_CLASS_H
#pragma GCC system_header
/*
 * region_class - hf::region: a region that ends with its block.
 *
 * Use when / not when
 *   As region.h, which includes this in C++.
 *
 * Operations
 *   hf::region            hf_region_begin() or hf_region_begin_file(), by its arguments; error()
 *   end                   ends it, once; returns what hf_region_end() returns
 *   hf::process_region    the same for the faults of all threads: hf_region_begin_process()
 *   hf::region_call       hf_region_call() of any callable; throws hf::region_error
 *
 * Example     hf::region region(map, size);
 *             sum = checksum(map, size);
 *             if (region.end() < size)
 *                     return error; // a page was lost: the sum is of zeros
 * Ordering    none
 */
#include "region.h"

#if defined(__cplusplus) && HF_ENV_HAS_REGION
HF_BEGIN_CXX

/* What hf::region and hf::process_region share. */
class region_guard {
public:
	region_guard(const region_guard &) = delete;
	region_guard &operator=(const region_guard &) = delete;
	~region_guard()
	{
		if (!error_ && hf_region_end(&raw_, nullptr)) {}
	}
	/* 0, or the error of begin: then no region is open. */
	int error() const noexcept { return error_; }
	/* As hf_region_end(), once. */
	[[nodiscard]] size_t end(hf_region_fault *fault = nullptr) noexcept
	{
		if (error_) {
			if (fault)
				*fault = { 0, 0, error_ };
			return 0;
		}
		error_ = -HF_EINVAL;
		return hf_region_end(&raw_, fault);
	}

protected:
	region_guard() noexcept : error_(-HF_EINVAL) {}
	hf_region_t raw_;
	int error_;
};

/* A region that ends with its block, or by end(), which alone reports what was lost. */
class region : public region_guard {
public:
	[[nodiscard]] region(const void *base, size_t len) noexcept
	{
		error_ = hf_region_begin(&raw_, base, len);
	}
	/* As hf_region_begin_file(). */
	[[nodiscard]] region(const void *base, size_t len, int prot, int flags, int fd,
			     uint64_t offset) noexcept
	{
		error_ = hf_region_begin_file(&raw_, base, len, prot, flags, fd, offset);
	}
};

#if defined(__cpp_exceptions)
/* What hf::region_call() throws. (Not a std::exception, whose header this one does not include.) */
class region_error {
public:
	region_error(int error_, const hf_region_fault &fault_) noexcept
		: error(error_), fault(fault_)
	{
	}
	const char *what() const noexcept
	{
		return error == -HF_EFAULT ? "holdfast: a page of the mapping is lost"
					   : "holdfast: the region can't begin";
	}
	const int error; /* of hf_region_call() */
	const hf_region_fault fault;
};

/*
 * As hf_region_call(), of any callable; throws a region_error at a lost page. The frames between
 * are left by a jump, as there: their destructors do not run. What the callable throws passes
 * through.
 */
template <class Callable>
void region_call(const void *base, size_t len, Callable &&callable)
{
	struct called {
		Callable &callable;
	} called = { callable };
	hf_region_fault fault = { 0, 0, 0 };
	int error = hf_region_call(
		base, len, [](void *at) { static_cast<struct called *>(at)->callable(); }, &called,
		&fault);

	if (error)
		throw region_error(error, fault);
}
#endif

/* The same for the faults of all threads: hf_region_begin_process(). Any thread may end it. */
class process_region : public region_guard {
public:
	[[nodiscard]] process_region(const void *base, size_t len) noexcept
	{
		error_ = hf_region_begin_process(&raw_, base, len);
	}
};
HF_END_CXX
#endif

#endif

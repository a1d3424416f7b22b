/* SPDX-License-Identifier: MIT */
#ifndef HF_REGION_H
#define HF_REGION_H
#pragma GCC system_header
/*
 * region - run unmodified code over a file mapping that may be truncated.
 *
 * Use when / not when
 *   A hash function, a parser, TLS or memchr reads a mapped file that another process may
 *   truncate. Without a region the process dies of SIGBUS. Where a copy suffices, nofault.h is
 *   simpler. Where other threads must not read zeros, use hf_region_call() or a copy. Only for
 *   mappings of files. In a kernel and on bare metal, where pages do not get lost, this header is
 *   empty (HF_ENV_HAS_REGION is 0).
 *
 *   SECURITY. A page of zeros is not the file's content, and the code that reads it cannot tell.
 *   Check the result of hf_region_end() before you trust a hash, a signature or a parser's result.
 *
 * Operations
 *   hf_nofault_install                      once, early: nofault.h
 *   hf_region_begin, hf_region_begin_file   guards this thread's accesses to a mapping
 *   hf_region_begin_process                 guards the accesses of all threads
 *   hf_region_end                           returns the offset of the first lost byte
 *   hf_region_call                          runs a function, and leaves it by a jump when a page is
 *                                           lost; the mapping is not changed
 *
 * Example  examples/region.c
 *
 *   if (hf_region_begin(&r, base, len) == 0) {
 *           sha256(base, len);
 *           if (hf_region_end(&r, &fault) < len)
 *                   ... the hash is not the file's
 *   }
 *
 * Guards   C     HF_REGION_GUARD(&r, base, len, error);
 *          C++   hf::region guard(base, len); ...; if (guard.end() < len) ...
 *                hf::process_region guard(base, len);
 *                hf::region_call(base, len, callable): throws hf::region_error
 *
 * State
 *   A region is a range of one mapping of one file.
 *
 *        base             bad                      base + len
 *        |  the file      |  lost: zeros           |
 *        |----------------|------------------------|--| the end of the last page
 *                         ^ start of the first page that faulted
 *
 *   An access that raises SIGBUS (BUS_ADRERR: behind the file's end, or the page can't be read)
 *   replaces the mapping, from that page to the region's end, by zero pages: one mmap() per
 *   truncation, regardless of its size. Then the access is repeated. All regions that overlap the
 *   lost part report it, of whichever thread. The lost part of a writable mapping is read-only
 *   until the first write, which is noted; data written there is discarded.
 *   Bytes behind the end of the file in its last page read as zeros without a fault: only a region
 *   that knows its file reports those (hf_region_begin_file).
 *   Passed on as bugs: SIGSEGV, but for that write; SIGBUS for memory errors (BUS_MCEERR_AR) and
 *   alignment (BUS_ADRALN); an instruction fetched from a lost page; faults outside of the range's
 *   pages; pages of anonymous memory, or of another file than the one that the region knows.
 *
 * Limits
 *   Reading zeros. Code that advances by a length which it reads from the file may never end over
 *   zeros; assertions on the file's content may fail (LMDB's do).
 *
 *   After the end. The whole process sees the zeros, which stay unless the region knows its file:
 *   end the regions, then map the file again or unmap the range. A new region reports zeros of
 *   before while any region that saw the loss is open; later ones read zeros unreported.
 *
 *   The mapping. The range should be one mapping with one protection: a fault replaces no more than
 *   the mapping in which it happened. Do not unmap what another thread is reading under a region,
 *   nor call mremap() between a loss and the end.
 *
 *   The system. SIGBUS and SIGSEGV must not be blocked. Where /proc/self/maps cannot be opened,
 *   each lost page takes a fault of its own, the zeros stay, and the end reports the error of
 *   open(). A process that has vm.max_map_count mappings dies of a loss, which cuts one. Near a
 *   limit of writable memory zeros may stay read-only: the end reports -ENOMEM (12).
 *
 *   What is lost beside the file's end. Data written to a private mapping behind the lost page. The
 *   rest of the range, too, when the disk can't be read or is full, or a userfaultfd with
 *   UFFD_FEATURE_SIGBUS has not filled a page yet. A huge page as a whole, and only if all of it is
 *   in the range. If several threads fault on one loss, bytes written there may be zeros again.
 *
 *   What is not noticed. A file that is truncated and grows again between two accesses: use a lock
 *   on the file, or a copy. A system call on a lost page, which fails with EFAULT. A fault of an
 *   operation of nofault.h, which recovers by itself.
 *
 *   The region object. Each copy of the static library has its own regions: link the shared one if
 *   several guard the same memory. The object must not lie in memory with a protection key. End a
 *   region before its memory or its thread ends: no longjmp past hf_region_end(), no cancellation.
 *   If a thread ends with open regions, they are closed, and one report is made
 *   (HF_REPORT_REGION_OPEN_AT_EXIT). In a fork's child the regions are open that the forking thread
 *   has begun, also those of the process, and no others.
 *
 *   Cost. 34 ns for begin and end; with a file each calls fstat(), too. 15 to 30 us for a loss on a
 *   busy machine; before Linux 6.11 longer with more mappings.
 *
 * Ordering
 *   none for the caller's data, in all operations
 *
 * Source   docs/design/0020-region.md; handlers of libraries: docs/guide/faults.md
 */
#include "lock_class.h"
#include "nofault.h"

#if HF_ENV_HAS_REGION

/* Its members are private. Must not be moved or copied between begin and end. */
typedef struct hf_region {
	hf_atomic64_t below; /* in its thread's list: struct hf_region *; 0 = none */
	/* The address from which on its pages were lost; HF_DETAIL_REGION_NONE = none. */
	hf_atomic64_t lost;
	hf_atomic64_t written; /* address of the first write there; HF_DETAIL_REGION_NONE = none */
	hf_atomic32_t access;  /* enum hf_detail_region_access */
	int32_t fd;            /* -1 = not given */
	uintptr_t base;
	size_t len;
	void *jump; /* the frame of hf_region_call(); NULL = pages are replaced */
	uint64_t offset;
	int32_t prot, flags;
	uint64_t of_process; /* not 0 = serves the faults of all threads */
	/* The file: src/region/file.c. */
	uint64_t device, inode;
	int32_t known; /* enum hf_detail_region_known */
} hf_region_t;

#define HF_DETAIL_REGION_NONE UINT64_MAX

/* Is the mapping writable? begin_file knows it; else the kernel is asked at the first loss. */
enum hf_detail_region_access {
	HF_DETAIL_REGION_UNKNOWN = 0,
	HF_DETAIL_REGION_READ_ONLY,
	HF_DETAIL_REGION_WRITABLE,
};

/* Where the file's device and inode come from. */
enum hf_detail_region_known {
	HF_DETAIL_REGION_BY_FSTAT = 0,
	HF_DETAIL_REGION_BY_MAPPING, /* a mapping of the file has shown them */
	HF_DETAIL_REGION_NOT_KNOWN,  /* the file could not be mapped */
};

/* Details of a loss. Offsets are in bytes from the region's base. */
struct hf_region_fault {
	size_t bad; /* as hf_region_end() returns it */
	/* The first noted write into the lost part; `bad` if it was outside of this region, or
	   before it began; the region's length: none. */
	size_t written;
	/* 0; -EINVAL (22): not a region that is open in this thread; -EEXIST (17): the file was not
	   mapped again, since another mapping is there now; else -errno: it could not be mapped
	   again, and the zeros stay, or (without a file) could not become writable. */
	int error;
};

HF_BEGIN_DECLS

/**
 * hf_region_begin - guard this thread's accesses to a mapping that may lose pages
 * @region: allocated by the caller, usually on the stack; need not be initialised
 * @base:   any address in the mapping, aligned or not
 * @len:    bytes
 *
 * The range is extended to whole pages, because pages are lost as wholes and vector code may read
 * before `base`. Regions of a thread may nest, overlap and end in any order; the one that began
 * last serves a fault.
 *
 * Context:  any thread; not in a signal handler. Calls hf_nofault_install() unless it or
 *           hf_nofault_handle() was called before
 * Errors:   -EINVAL (22): no base, no length, or a range that wraps around; -EBUSY (16): it is open
 *           already, in this thread or for the process; -errno of hf_nofault_install()
 * Return:   0, or an error, and no region is open
 */
HF_MUST_CHECK int hf_region_begin(hf_region_t *region, const void *base, size_t len) HF_API_EACH;

/**
 * hf_region_begin_file - as hf_region_begin(), and the end maps the file again
 * @region, @base, @len: as above
 * @prot, @flags:        as mmap() had them when the mapping was made
 * @fd:                  the file; stays open until the end
 * @offset:              of the byte at `base` in the file: not of the mapping's start
 *
 * If a page was lost, hf_region_end() maps the file again from there to the range's end, provided
 * that nothing else has been mapped there meanwhile. It is a new mapping: add MAP_LOCKED to the
 * flags if it is to be locked again, and call madvise() again. The first bad offset is exact to the
 * byte, and a truncation within the last page, which causes no fault, is reported.
 *
 * Context:  as hf_region_begin()
 * Errors:   -EINVAL (22): as above; base and offset don't fit together (not the same place in a
 *           page); flags without exactly one of MAP_SHARED and MAP_PRIVATE, or with MAP_ANONYMOUS;
 *           -EBADF (9): fd is not open
 * Return:   0, or an error, and no region is open
 */
HF_MUST_CHECK int hf_region_begin_file(hf_region_t *region, const void *base, size_t len, int prot,
				       int flags, int fd, uint64_t offset) HF_API_EACH;

/**
 * hf_region_begin_process - as hf_region_begin(), for the accesses of all threads
 *
 * A region of a thread's own serves its faults first. Any thread may end this one.
 */
HF_MUST_CHECK int hf_region_begin_process(hf_region_t *region, const void *base,
					  size_t len) HF_API_EACH;

/**
 * hf_region_end - end a region and report what was lost
 * @region: begun by this thread, or by hf_region_begin_process()
 * @fault:  gets the details; may be NULL
 *
 * Context:  any thread; not in a signal handler; sleeps while another thread recovers a fault
 * Errors:   of a region that this thread has not begun: 0, and fault->error is -EINVAL (22)
 * Return:   the offset of the first lost byte; the region's length: nothing was lost
 */
HF_MUST_CHECK size_t hf_region_end(hf_region_t *region, struct hf_region_fault *fault) HF_API_EACH;

/**
 * hf_region_call - run a function and leave it at the first lost page; no page is replaced
 * @base, @len: as hf_region_begin()
 * @function:   is called with `arg`
 * @arg:        for the function
 * @fault:      gets the details; may be NULL
 *
 * For mappings that other threads read, which must not see zeros. At the first lost page the
 * function is left by siglongjmp(): it must hold no lock, own no memory and have no C++ destructor
 * to run, and what it was changing stays half changed. Regions that it has begun are ended. The
 * signal mask is then that at the fault, and the floating-point control bits are those before the
 * call. An exception, pthread_exit() or a cancellation ends the region, too, if the library was
 * compiled with -fexceptions: add it for holdfast.c of `make single`.
 *
 * Context:  any thread; not in a signal handler
 * Errors:   -EFAULT (14): it was left at a lost page, or another region replaced a page of the
 *           range meanwhile; -EINVAL (22): as hf_region_begin(), and the function was not called
 * Return:   0: the function has returned, and nothing was lost; or an error
 */
HF_MUST_CHECK int hf_region_call(const void *base, size_t len, void (*function)(void *arg),
				 void *arg, struct hf_region_fault *fault) HF_API_EACH;

HF_END_DECLS

HF_INLINE hf_region_t *hf_detail_region_guard_begin(hf_region_t *region, const void *base,
						    size_t len, int *error)
{
	*error = hf_region_begin(region, base, len);
	return *error ? (hf_region_t *)0 : region;
}

HF_INLINE void hf_detail_region_guard_end(hf_region_t **guard)
{
	if (*guard && hf_region_end(*guard, (struct hf_region_fault *)0)) {}
}

/*
 * HF_REGION_GUARD - a region that ends with the enclosing block (not by longjmp). `region` is a
 * hf_region_t *; `error`, an int, gets the result of hf_region_begin(). Call hf_region_end() to
 * learn what was lost: after it, the guard does nothing.
 */
#define HF_REGION_GUARD(region, base, len, error)                                                  \
	HF_DETAIL_GUARD(hf_region_t, hf_detail_region_guard, (region), (base), (len), &(error))

/* ---- C++ ---------------------------------------------------------------------------------- */

#ifdef __cplusplus
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

#endif

/* SPDX-License-Identifier: MIT */
#ifndef HF_REGION_H
#define HF_REGION_H
#pragma GCC system_header
/*
 * region - let anybody's code read a mapping whose pages may get lost.
 *
 * Use when / not when
 *   A hash function, a parser, TLS, memchr: code that knows nothing of faults runs over a mapped
 *   file that another process may truncate. Without this the process dies of SIGBUS. Where a copy
 *   will do, nofault.h is simpler and says how far it came. Not where zeros in place of the lost
 *   pages are wrong for other threads: then hf_region_call(), or a copy. Not for memory that is not
 *   a mapping of a file. Not in a kernel and not on bare metal, where pages do not get lost
 *   (HF_ENV_HAS_REGION is 0): this header is empty there.
 *
 *   SECURITY. A page of zeros is not the file's content, and the code that read it does not know.
 *   Look at what hf_region_end() returns before you believe a hash, a signature or a parser's
 *   result.
 *
 * Verbs
 *   hf_nofault_install                      once, early: nofault.h
 *   hf_region_begin, hf_region_begin_file   this thread's accesses to this mapping may lose pages
 *   hf_region_begin_process                 those of all threads
 *   hf_region_end                           returns the first offset that was not there
 *   hf_region_call                          runs a function, and leaves it by a jump when a page is
 *                                           lost; the mapping stays as it is
 *
 * Example  examples/region.c
 *
 *   hf_region_t r;
 *   struct hf_region_fault fault;
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
 *
 * State
 *   A region is a range of one mapping of one file.
 *
 *        base             bad                      base + len
 *        |  the file      |  lost: zeros           |
 *        |----------------|------------------------|--| the end of the last page
 *                         ^ start of the page that was missed first
 *
 *   An access that the system answers with SIGBUS (BUS_ADRERR: behind the file's end, or the page
 *   can't be read) has the mapping from that page to the region's end replaced by zeros that belong
 *   to this process: one system call a loss, however large. Then the access is repeated.
 *   Memory is lost by pages: the page that faults lies behind the file's end as a whole, with all
 *   pages above it. What an end of file inside of a page cuts off is zeros without a fault: only a
 *   region that knows its file can tell (hf_region_begin_file).
 *   The lost part of a writable mapping is read-only until it is written to; that first write is
 *   noted, and what is written from then on is thrown away. While several threads meet the loss at
 *   one time, what was written may turn into zeros again.
 *
 * Invariants
 *   G1  A region whose range has a page replaced, by whichever thread, reports it. It is noted
 *       before the zeros can be read: in the finder's region first, then in all regions that
 *       overlap the lost part. A region that begins later takes over the loss of each open region
 *       that was open at it, for as long as its zeros are mapped. It never passes on what it took
 *       over. Both sides are sequentially consistent, so one of the two sees the other. A region
 *       that knows its file maps it again while it is still open; that ends the loss for all.
 *   G2  A handler reads a region of another thread only between hf_grace_enter() and _leave(), and
 *       hf_region_end() waits for handlers that are inside (nofault/grace.h). So the region's
 *       memory is the caller's again. The check costs one load each of two counters.
 *   G3  A thread's own list is changed by that thread alone, by one store, so that its signal
 *       handler finds it whole at each instruction.
 *   G4  A handler waits for nobody and allocates nothing: threads that meet the same loss each make
 *       their mapping, and the lowest page counts. (It waits for handlers of others, no longer than
 *       those take, where hf_region_call() leaves regions that the function has not ended.)
 *   G5  Only a range's own pages are replaced, and only for SIGBUS: a SIGSEGV is a bug of the code
 *       and is passed on, except for a write into the lost part of a mapping that was writable. So
 *       are SIGBUS for memory errors (BUS_MCEERR_AR) and alignment (BUS_ADRALN), an instruction
 *       that is fetched from a lost page, and every fault outside of the range's pages.
 *
 * Limits
 *   The zeros are the process's: threads that never began a region read them too. They stay after
 *   the end, unless the region knows its file: map it anew, or give the mapping up. A region that
 *   begins when none of those is open any more that were open at the loss, finds zeros and does not
 *   report them. A region that begins while one of those is open reports the loss, unless a region's
 *   end has mapped the file again; a program that maps it again by itself ends its regions first.
 *   All of the range must be one mapping with one protection: what was written to a private
 *   mapping behind the lost page is lost, as it is by a truncation. Pages of a huge size
 *   (hugetlbfs) are lost as wholes, and only if the range has all of the page.
 *   SIGBUS also comes for a page that can't be read from its disk, or written for want of space:
 *   the rest of the range counts as lost then, too.
 *   A file that was truncated and has grown again before an access: no page is missed, and nothing
 *   is reported. Only a lock on the file or a copy helps there.
 *   A system call that is given a lost page fails with EFAULT and no signal. An operation of
 *   nofault.h recovers by itself, and the region does not report it.
 *   SIGBUS and SIGSEGV must not be blocked. Kernels before 5.14 do not report whether a mapping
 *   is writable: there a write into the lost part of a read-only one is noted as any other.
 *   Each copy of the static library knows its own regions only: objects that guard the same memory
 *   link the shared one. A region must be ended before its memory or its thread ends: no longjmp
 *   past hf_region_end(), no cancellation.
 *
 * Ordering
 *   none for the caller's data, in all
 *
 * Source   docs/design/0020-region.md
 */
#include "nofault.h"

#if HF_ENV_HAS_REGION

/* None of its members is for the caller. It stays where it is from begin to end. */
typedef struct hf_region {
	hf_atomic64_t below; /* in its thread's list: struct hf_region *; 0 = none */
	hf_atomic64_t
		lost; /* address from which on its pages were lost; HF_DETAIL_REGION_NONE = none */
	hf_atomic64_t written; /* address of the first write there; HF_DETAIL_REGION_NONE = none */
	hf_atomic32_t access;  /* enum hf_detail_region_access */
	int32_t fd;            /* -1 = it does not know its file */
	uintptr_t base;
	size_t len;
	void *jump; /* a sigjmp_buf of hf_region_call(); NULL = pages are replaced */
	uint64_t offset;
	int32_t prot, flags;
	uint64_t of_process; /* 1 = the faults of all threads are its */
	hf_atomic64_t zeros; /* its pages that may be zeros since a loss: src/region/region_list.h */
	uint64_t seen;       /* `zeros` as who maps the file again has found it */
} hf_region_t;

#define HF_DETAIL_REGION_NONE UINT64_MAX

/* May the mapping be written? Asked of the kernel at the first loss, if the caller has not said. */
enum hf_detail_region_access {
	HF_DETAIL_REGION_UNKNOWN = 0,
	HF_DETAIL_REGION_READ_ONLY,
	HF_DETAIL_REGION_WRITABLE,
};

/* What a region met. Offsets count from the region's base, in bytes. */
struct hf_region_fault {
	size_t bad;     /* as hf_region_end() returns it */
	size_t written; /* the first write into the lost part that was noted, or `bad` if another
			   region's was; the region's length: none */
	int error;      /* 0; -errno: the file could not be mapped again, and the zeros stay;
			   -EEXIST (17): nor was it: the place belongs to another mapping by now;
			   -EINVAL (22): not a region that is open in this thread */
};

HF_BEGIN_DECLS

/**
 * hf_region_begin - from now on, this thread may touch a mapping that loses pages
 * @region: the caller's, on the stack as a rule; need not be initialised
 * @base:   any address in the mapping, aligned or not
 * @len:    bytes
 *
 * Faults count by pages: the first and the last page belong to the range as a whole, for the system
 * takes them as a whole, and code that works by vectors may begin in front of `base`. Regions of a
 * thread may nest, overlap and end in any order; the one that began last serves a fault.
 *
 * Context:  any thread; not in a signal handler. Installs the handler (hf_nofault_install()) if no
 *           code has done so yet: not if hf_nofault_handle() was called before
 * Ordering: none
 * Errors:   -EINVAL (22): no base, no length, or a range that wraps around; -EBUSY (16): it is open
 *           already, in this thread or for the process; -errno of hf_nofault_install()
 * Return:   0, or an error, and no region is open
 */
HF_MUST_CHECK int hf_region_begin(hf_region_t *region, const void *base, size_t len) HF_API_EACH;

/**
 * hf_region_begin_file - the same, with what it takes to map the file again at the end
 * @region, @base, @len: as above
 * @prot, @flags:        as mmap() had them when the mapping was made
 * @fd:                  the file; stays open until the end
 * @offset:              of the byte at `base` in the file: not of the mapping's start
 *
 * If a page was lost, hf_region_end() maps the file again from there to the range's end, with this
 * protection and these flags, if the place has still the zeros (/proc/self/smaps: code under the region
 * may have unmapped it, and others mapped something there). It is a new mapping: mlock() and madvise()
 * (MADV_DONTDUMP, DONTFORK, RANDOM, SEQUENTIAL, HUGEPAGE, NOHUGEPAGE) are repeated as they are for the
 * page of the file's mapping before the lost ones, or behind the range; call them again if there is no
 * such page, or for other advice. As the file is then: if it is still short, the next access behind
 * its end is a SIGBUS again; if it has grown, the new content is there. It also looks how long the file
 * is, so that the first bad offset is exact to the byte, and a file that has become shorter inside of
 * its last page is noticed.
 *
 * Context:  as hf_region_begin()
 * Ordering: none
 * Errors:   -EINVAL (22): as above; base and offset don't fit together (not the same place in a
 *           page); flags without exactly one of MAP_SHARED and MAP_PRIVATE, or with MAP_ANONYMOUS;
 *           -EBADF (9): fd is negative
 * Return:   0, or an error, and no region is open
 */
HF_MUST_CHECK int hf_region_begin_file(hf_region_t *region, const void *base, size_t len, int prot,
				       int flags, int fd, uint64_t offset) HF_API_EACH;

/**
 * hf_region_begin_process - the same as hf_region_begin(), for the faults of all threads
 *
 * A region of a thread's own serves its faults first.
 *
 * Context:  any thread; not in a signal handler. Any thread may end it
 * Ordering: none
 * Errors:   as hf_region_begin()
 * Return:   0, or an error, and no region is open
 */
HF_MUST_CHECK int hf_region_begin_process(hf_region_t *region, const void *base,
					  size_t len) HF_API_EACH;

/**
 * hf_region_end - from now on faults in it are fatal again; what was lost?
 * @region: one that this thread has begun, or one of the process
 * @fault:  gets more about it; may be NULL
 *
 * Context:  any thread; not in a signal handler; may wait while another thread recovers a fault
 * Ordering: none
 * Errors:   of a region that this thread has not begun: 0, and fault->error is -EINVAL (22)
 * Return:   the first offset that was not there; the region's length: all was there
 */
HF_MUST_CHECK size_t hf_region_end(hf_region_t *region, struct hf_region_fault *fault) HF_API_EACH;

/**
 * hf_region_call - run a function that may touch a mapping that loses pages; no page is replaced
 * @base, @len: as hf_region_begin()
 * @function:   is called with `arg`
 * @arg:        for the function
 * @fault:      gets more about it; may be NULL
 *
 * For mappings that other threads read, who must not find zeros. At the first lost page the
 * function is left by a jump (siglongjmp), as if it had returned. So nothing that it meant to do
 * behind that access is done: it must hold no lock, own no memory and have no C++ destructor to
 * run; what it was changing stays half changed. A library that keeps state between calls is not for
 * this form. Regions and calls that it has begun itself are closed. Its thread's signal mask is as
 * it was at the fault.
 *
 * Context:  any thread; not in a signal handler
 * Ordering: none
 * Errors:   -EFAULT (14): it was left at a lost page, or another region replaced a page of the
 *           range meanwhile; -EINVAL (22): as hf_region_begin(), and the function was not called
 * Return:   0: the function has returned, and all was there; or an error
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
 * HF_REGION_GUARD - a region to the end of this block, however it is left; not by longjmp. `region` is a
 * hf_region_t *; `error`, an int, gets what hf_region_begin() returns: if not 0, nothing is open. Only
 * hf_region_end() returns what was lost: after it, the guard does nothing.
 */
#define HF_REGION_GUARD(region, base, len, error)                                                  \
	hf_region_t *HF_DETAIL_UNIQUE(hf_detail_guard_)                                            \
		__attribute__((cleanup(hf_detail_region_guard_end), unused)) =                     \
			hf_detail_region_guard_begin((region), (base), (len), &(error))

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
	/* 0, or what begin returned: then no region is open. */
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

/* A region from here to end(), or to the end of the block: but only end() returns what was lost. */
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

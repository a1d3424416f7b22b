/* SPDX-License-Identifier: MIT */
#ifndef HF_TESTS_FILTER_H
#define HF_TESTS_FILTER_H
/* filter - seccomp filters of system calls, for tests in a child process: they stay to its end. */
#include <cstddef>
#include <initializer_list>
#include <vector>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "unit.h"

namespace unit
{

using rules = std::vector<struct sock_filter>;

/* Loads the number of the system call, or the low half of its argument @i, or the high half. */
inline struct sock_filter load_number()
{
	return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
}
inline struct sock_filter load_argument(unsigned int i, bool high = false)
{
	const bool second = high == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	return BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			static_cast<uint32_t>(offsetof(struct seccomp_data, args)) + 8 * i +
				(second ? 4 : 0));
}
inline struct sock_filter result(unsigned int what)
{
	return BPF_STMT(BPF_RET | BPF_K, what);
}

inline void filter(rules all)
{
	struct sock_fprog program = { static_cast<unsigned short>(all.size()), all.data() };

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* From now on each of these system calls fails with @error; or raises SIGSYS if that is 0. */
inline void refuse(std::initializer_list<unsigned int> calls, unsigned int error)
{
	rules all = { load_number() };

	for (unsigned int call : calls) {
		all.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
		all.push_back(result(error ? SECCOMP_RET_ERRNO | error : SECCOMP_RET_TRAP));
	}
	all.push_back(result(SECCOMP_RET_ALLOW));
	filter(all);
}

} // namespace unit

#endif

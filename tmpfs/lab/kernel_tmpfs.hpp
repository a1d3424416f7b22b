/* SPDX-License-Identifier: MIT */
/* kernel_tmpfs - whether the kernel's tmpfs can be measured, for comparison, at /dev/shm. */
#pragma once

#include <cstdint>

#include <sys/vfs.h>
#include <unistd.h>

namespace lab
{

/* Whether /dev/shm is a tmpfs that is writable and has room for this many names. */
inline bool have_kernel_tmpfs(uint64_t names = 0)
{
	const long TMPFS_MAGIC = 0x01021994;
	struct statfs st;

	return statfs("/dev/shm", &st) == 0 && st.f_type == TMPFS_MAGIC &&
	       access("/dev/shm", W_OK) == 0 && (st.f_files == 0 || st.f_ffree > names + 8);
}

} // namespace lab

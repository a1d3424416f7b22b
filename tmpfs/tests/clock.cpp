// SPDX-License-Identifier: MIT
/* clock - times are ordered with those of the kernel's file systems. */
#include "fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace
{

int64_t ns(const struct timespec &time)
{
	return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/* A new file of the kernel's. write() changes it and returns when, which is then looked at. */
class Kernels {
public:
	Kernels() : fd_(memfd_create("kernels", MFD_CLOEXEC)) {}
	~Kernels() { close(fd_); }
	Kernels(const Kernels &) = delete;
	Kernels &operator=(const Kernels &) = delete;
	int64_t write() const
	{
		struct stat st = {};

		EXPECT_EQ(pwrite(fd_, "x", 1, 0), 1);
		EXPECT_EQ(fstat(fd_, &st), 0);
		return ns(st.st_mtim);
	}

private:
	int fd_;
};

class TmpfsClock : public TmpfsTest {
protected:
	/* Changes a file and returns when. */
	int64_t change()
	{
		struct hf_tmpfs_attributes now = {};

		now.set = HF_TMPFS_SET_MTIME;
		now.mtime.tv_nsec = UTIME_NOW;
		EXPECT_EQ(hf_tmpfs_setattr(node("/f"), &now), 0);
		EXPECT_EQ(ns(stat("/f").st_mtim), ns(stat("/f").st_ctim));
		return ns(stat("/f").st_mtim);
	}
	enum { TIMES = 2000 };
};

// A new file's first change has the time of the last tick, or of a finer one that a file has got.
TEST_F(TmpfsClock, WhatTheKernelChangesLaterIsNotOlder)
{
	file("/f");
	for (int i = 0; i < TIMES; i++) {
		Kernels kernels;
		int64_t ours = change();

		ASSERT_LE(ours, kernels.write());
	}
}

// A file whose time was looked at gets a finer one at its next change, from Linux 6.13 on.
TEST_F(TmpfsClock, WhatIsChangedLaterThanTheKernelsIsNotOlder)
{
	Kernels kernels;
	int64_t before = kernels.write();
	int fine = 0;

	file("/f");
	for (int i = 0; i < TIMES; i++) {
		int64_t theirs = kernels.write();

		fine += theirs > before;
		before = theirs;
		ASSERT_LE(theirs, change());
	}
	if (fine < TIMES)
		GTEST_SKIP() << "this kernel gives the time of the last tick";
}

} // namespace

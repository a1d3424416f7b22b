// SPDX-License-Identifier: MIT
/* readdir - a listing of a changing directory returns each name that stays once, and ends. */
#include "fixture.h"

#include <map>
#include <random>

namespace
{

class TmpfsReaddir : public TmpfsTest {
protected:
	void SetUp() override
	{
		TmpfsTest::SetUp();
		run("mkdir /d");
	}

	/* Lists one name at a time, calling `between` after each. Fails after `most` names. */
	template <class F>
	std::map<std::string, int> slowly(F between, int most = 1000)
	{
		std::map<std::string, int> seen;
		struct hf_tmpfs_dirent entry;
		int fd = open("/d"), given = 0;

		while (hf_tmpfs_readdir(t, fd, &entry, 1) == 1 && given++ < most) {
			seen[entry.name]++;
			between(given);
		}
		EXPECT_LT(given, most) << "no end";
		hf_tmpfs_close(t, fd);
		return seen;
	}

	/* The entries after a cookie, read by a new descriptor. */
	std::vector<struct hf_tmpfs_dirent> entries_behind(int64_t cookie)
	{
		std::vector<struct hf_tmpfs_dirent> entries;
		struct hf_tmpfs_dirent entry;
		int fd = open("/d");

		EXPECT_EQ(hf_tmpfs_lseek(t, fd, cookie, SEEK_SET), cookie);
		while (hf_tmpfs_readdir(t, fd, &entry, 1) == 1)
			entries.push_back(entry);
		hf_tmpfs_close(t, fd);
		return entries;
	}

	/* Their names, separated by blanks. */
	std::string behind(int64_t cookie)
	{
		std::string names;

		for (const auto &entry : entries_behind(cookie))
			names += std::string(names.empty() ? "" : " ") + entry.name;
		return names;
	}

	int64_t cookie_of(const std::string &name)
	{
		for (const auto &entry : entries_behind(0)) {
			if (name == entry.name)
				return entry.next;
		}
		return -1;
	}
};

TEST_F(TmpfsReaddir, TheEntryOfTheCookieGoes)
{
	int64_t b, d;

	run("file /d/a; file /d/b; file /d/c; file /d/d");
	b = cookie_of("b");
	d = cookie_of("d");
	ASSERT_EQ(hf_tmpfs_unlink(root, "/d/b"), 0);
	EXPECT_EQ(behind(b), "c d");
	ASSERT_EQ(hf_tmpfs_unlink(root, "/d/c"), 0);
	EXPECT_EQ(behind(b), "d");
	/* The last entry: new names come after its cookie, since no cookie is used twice. */
	ASSERT_EQ(hf_tmpfs_unlink(root, "/d/d"), 0);
	EXPECT_EQ(behind(d), "");
	file("/d/e");
	EXPECT_EQ(behind(d), "e");
	EXPECT_GT(cookie_of("e"), d);
	EXPECT_EQ(behind(INT64_MAX), "");
	EXPECT_EQ(behind(INT64_MAX - 1), "");
	/* Each name is removed soon after it is given. */
	for (int i = 0; i < 100; i++)
		file(("/d/n" + std::to_string(i)).c_str());
	int gone = 0;
	std::map<std::string, int> seen = slowly([&](int n) {
		if (n > 4 && hf_tmpfs_unlink(root, ("/d/n" + std::to_string(n - 5)).c_str()) == 0)
			gone++;
	});
	EXPECT_EQ(seen.size(), 104u);
	EXPECT_GE(gone, 99);
}

/* Names that stay, or are replaced, among others that are made, removed and moved at random. */
TEST_F(TmpfsReaddir, AnyChanges)
{
	const int STAY = 150, CHURN = 60;

	run("file /outside");
	for (uint32_t seed = 1; seed <= 20 && !HasFailure(); seed++) {
		std::mt19937 random(seed);
		auto any = [&](const char *kind, int most) {
			return "/d/" +
			       (kind + std::to_string(random() % static_cast<unsigned>(most)));
		};

		for (int i = 0; i < STAY; i++) {
			if (i % 3 == 0)
				(void)side_.step("mknod " + any("churn", CHURN) + " file");
			run("file /d/stay" + std::to_string(i));
		}
		std::map<std::string, int> seen = slowly([&](int) {
			for (int i = 0; i < 3; i++) {
				std::string churn = any("churn", CHURN), stay = any("stay", STAY);
				const std::string steps[] = {
					"mknod " + churn + " file",
					"unlink " + churn,
					"rename " + churn + " " + any("churn", CHURN),
					"rename " + churn + " " + stay,
					"rename " + stay + " " + any("stay", STAY) + " exchange",
					"rename " + stay + " /outside exchange",
					"rename /new " + stay
				};

				(void)side_.step("mknod /new file");
				(void)side_.step(steps[random() % 7]);
			}
		});
		for (int i = 0; i < STAY; i++) {
			std::string name = "stay" + std::to_string(i);

			EXPECT_EQ(seen[name], 1) << name << ", seed " << seed;
		}
		prove();
		for (const auto &entry : entries_behind(0))
			(void)hf_tmpfs_unlink(root, (std::string("/d/") + entry.name).c_str());
	}
}

} // namespace

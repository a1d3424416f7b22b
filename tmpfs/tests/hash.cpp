// SPDX-License-Identifier: MIT
/* hash - the hash of names: published vectors, and a secret key. */
#include "fixture.h"

#include <algorithm>

#include "siphash.h"

/* A private function of the library. */
extern "C" uint64_t tmpfs_hash(const struct hf_tmpfs *fs, const char *name, size_t length);

namespace
{

class TmpfsHash : public TmpfsTest {};

/* From the paper (15 bytes) and its reference implementation: key 00..0f, message 00, 01, ... */
TEST_F(TmpfsHash, PublishedVectors)
{
	const struct {
		size_t length;
		uint64_t hash;
	} vectors[] = {
		{ 0, 0x726fdb47dd0e0e31u },  { 1, 0x74f839c593dc67fdu }, { 2, 0x0d6c8009d9a94f5au },
		{ 3, 0x85676696d7fb7e2du },  { 7, 0xab0200f58b01d137u }, { 8, 0x93f5f5799a932462u },
		{ 15, 0xa129ca6149be45e5u },
	};
	const struct tmpfs_siphash_key key = { { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u } };
	unsigned char message[16];

	for (unsigned char i = 0; i < 16; i++)
		message[i] = i;
	for (const auto &vector : vectors)
		EXPECT_EQ(tmpfs_siphash(2, 4, &key, message, vector.length), vector.hash)
			<< vector.length << " bytes";
	/* 1 and 3 rounds, as in the library: computed with the reference implementation. */
	EXPECT_EQ(tmpfs_siphash(1, 3, &key, message, 0), 0xabac0158050fc4dcu);
}

TEST_F(TmpfsHash, EachFileSystemHasItsOwnKey)
{
	const struct tmpfs_siphash_key none = {};
	struct hf_tmpfs *other;

	ASSERT_EQ(hf_tmpfs_new(&other, nullptr), 0);
	EXPECT_NE(tmpfs_hash(fs, "name", 4), tmpfs_hash(other, "name", 4));
	EXPECT_NE(tmpfs_hash(fs, "name", 4), tmpfs_siphash(1, 3, &none, "name", 4));
	ASSERT_EQ(hf_tmpfs_free(other), 0);
}

/*
 * An attacker who does not know the key chooses names that collide under the key 0. With the file
 * system's key they must be spread over the buckets, so that look-ups take few comparisons.
 */
TEST_F(TmpfsHash, ChosenNamesDoNotCollide)
{
	const struct tmpfs_siphash_key none = {};
	const size_t CHOSEN = 4000, BUCKETS = 4096;
	std::vector<unsigned int> buckets(BUCKETS);
	unsigned int longest = 0;
	uint64_t steps = 0;

	for (size_t n = 0, i = 0; n < CHOSEN; i++) {
		std::string name = std::to_string(i);

		if (tmpfs_siphash(1, 3, &none, name.data(), name.size()) % BUCKETS)
			continue;
		n++;
		longest = std::max(longest,
				   ++buckets[tmpfs_hash(fs, name.data(), name.size()) % BUCKETS]);
	}
	for (unsigned int length : buckets)
		steps += uint64_t(length) * length;
	/* Random hashes: 7 in one bucket, 8,000 steps. All in one bucket: 16 million. */
	EXPECT_LT(longest, 20u);
	EXPECT_LT(steps, 20000u);
}

} // namespace

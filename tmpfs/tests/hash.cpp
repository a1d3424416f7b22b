// SPDX-License-Identifier: MIT
/* hash - the hash of names: published vectors, and a secret key. */
#include "fixture.h"

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

} // namespace

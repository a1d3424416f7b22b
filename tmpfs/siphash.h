/* SPDX-License-Identifier: MIT */
#ifndef HF_TMPFS_SIPHASH_H
#define HF_TMPFS_SIPHASH_H
/*
 * siphash - a keyed hash of short strings: without the key nobody can choose names that collide.
 *
 * State    four words v0..v3, mixed with the key; each word of the message goes into v3, and after
 *          some rounds into v0. The last word has the length in its top byte.
 * Source   Aumasson, Bernstein: SipHash: a fast short-input PRF (2012). SipHash-2-4 has 2 rounds a
 *          word and 4 at the end; tmpfs uses 1 and 3, since an attacker sees no hashes, only
 *          timing.
 */
#include <stddef.h>
#include <stdint.h>

struct tmpfs_siphash_key {
	uint64_t word[2];
};

static inline uint64_t tmpfs_siphash_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void tmpfs_siphash_rounds(uint64_t v[4], int rounds)
{
	while (rounds-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = tmpfs_siphash_rotate(v[1], 13) ^ v[0];
		v[3] = tmpfs_siphash_rotate(v[3], 16) ^ v[2];
		v[0] = tmpfs_siphash_rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = tmpfs_siphash_rotate(v[1], 17) ^ v[2];
		v[3] = tmpfs_siphash_rotate(v[3], 21) ^ v[0];
		v[2] = tmpfs_siphash_rotate(v[2], 32);
	}
}

/* Up to 8 bytes, the first one lowest. */
static inline uint64_t tmpfs_siphash_word(const unsigned char *from, size_t count)
{
	uint64_t word = 0;

	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)from[i] << 8 * i;
	return word;
}

static inline uint64_t tmpfs_siphash(int rounds, int last_rounds,
				     const struct tmpfs_siphash_key *key, const void *data,
				     size_t length)
{
	const unsigned char *from = (const unsigned char *)data;
	uint64_t v[4] = { 0x736f6d6570736575u ^ key->word[0], 0x646f72616e646f6du ^ key->word[1],
			  0x6c7967656e657261u ^ key->word[0], 0x7465646279746573u ^ key->word[1] };
	uint64_t word;
	size_t left;

	for (left = length; left >= 8; left -= 8, from += 8) {
		word = tmpfs_siphash_word(from, 8);
		v[3] ^= word;
		tmpfs_siphash_rounds(v, rounds);
		v[0] ^= word;
	}
	word = tmpfs_siphash_word(from, left) | (uint64_t)length << 56;
	v[3] ^= word;
	tmpfs_siphash_rounds(v, rounds);
	v[0] ^= word;
	v[2] ^= 0xff;
	tmpfs_siphash_rounds(v, last_rounds);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif

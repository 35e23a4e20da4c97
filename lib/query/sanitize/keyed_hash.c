/* SPDX-License-Identifier: MIT */
#include "lib/query/sanitize/keyed_hash.h"

#include <endian.h>
#include <string.h>

static uint64_t rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix(uint64_t v[4], unsigned int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* Reads up to 8 bytes, the lowest first. */
static uint64_t read_word(const uint8_t *data, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, data, size);
	return le64toh(word);
}

uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_SIZE], const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t low = read_word(key, 8), high = read_word(key + 8, 8), word;
	uint64_t v[4] = {low ^ 0x736f6d6570736575ull, high ^ 0x646f72616e646f6dull,
			 low ^ 0x6c7967656e657261ull, high ^ 0x7465646279746573ull};
	size_t at = 0;

	for (; size - at >= 8; at += 8) {
		word = read_word(bytes + at, 8);
		v[3] ^= word;
		mix(v, 2);
		v[0] ^= word;
	}
	word = (uint64_t)size << 56 | read_word(bytes + at, size - at);
	v[3] ^= word;
	mix(v, 2);
	v[0] ^= word;
	v[2] ^= 0xff;
	mix(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

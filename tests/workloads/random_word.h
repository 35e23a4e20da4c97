/* SPDX-License-Identifier: MIT */
/* Words for structures of programs that lie to those who read them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Returns numbers and addresses, in a fixed order: half of them into `area`, off its beginning. */
static uint64_t random_word(const void *area, size_t size)
{
	static uint64_t x = 88172645463325252;
	static const uint64_t bases[] = {0, 0xffff888000000000, 0x7fffffffe000, 0x100000000, 1};

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	if (x & 1)
		return (uint64_t)area + (x >> 8) % size;
	return bases[(x >> 8) % 5] + (x >> 16 & 0xffff);
}

/* Changes a word of the area, whose size is one of words. Returns a number to choose by. */
static inline uint64_t change_word(void *area, size_t size)
{
	uint64_t word = random_word(area, size), choice = random_word(area, size) >> 3;

	memcpy((uint64_t *)area + choice % (size / 8), &word, sizeof(word));
	return choice;
}

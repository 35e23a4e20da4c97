/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples allocations at random, byte by byte; see struct alloc_sampling. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"

const volatile struct alloc_sampling alloc_sampling = {};

/* The distribution is memoryless: all processes may share a CPU's countdown. */
struct alloc_distances {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64); /* bytes until the next marked byte; 0: not drawn yet */
};

struct alloc_distances alloc_distances SEC(".maps");

/* -log2 of a random number from 2^-32 to 1, in 2^-26. */
static __always_inline __u64 random_log(void)
{
	__u32 random = bpf_get_prandom_u32(), zeros = 0, index, rest;

	if (!random)
		return 32ull << 26;
	for (int i = 16; i; i /= 2) {
		if (!(random >> (32 - i))) {
			random <<= i;
			zeros += i;
		}
	}
	index = random >> 23 & (ALLOC_LOG_STEPS - 1);
	rest = random & ((1u << 23) - 1);
	return ((__u64)(zeros + 1) << 26) - alloc_sampling.log2[index] -
	       ((__u64)(alloc_sampling.log2[index + 1] - alloc_sampling.log2[index]) * rest >> 23);
}

static __always_inline __u64 draw_distance(void)
{
	/* ln 2 in 2^-16 */
	return ((alloc_sampling.mean * 45426 >> 16) * random_log() >> 26) + 1;
}

/* True if one of the next `size` bytes is marked. */
static __always_inline bool takes_bytes(__u64 size)
{
	__u32 zero = 0;
	__u64 *distance = bpf_map_lookup_elem(&alloc_distances, &zero);

	if (!distance)
		return false;
	if (!*distance)
		*distance = draw_distance();
	if (size < *distance) {
		*distance -= size;
		return false;
	}
	*distance = draw_distance();
	return true;
}

/* Returns the bytes that such an allocation represents. */
static __always_inline __u64 weigh_bytes(__u64 size)
{
	__u64 mean = alloc_sampling.mean, at;
	__u32 index, rest, low, high;

	if (!mean || size / mean >= ALLOC_WEIGHT_MAX - 1)
		return size;
	at = (size << 15) / mean;
	index = at >> 10 & (ALLOC_WEIGHT_STEPS - 1);
	rest = at & 1023;
	low = alloc_sampling.weights[index];
	high = alloc_sampling.weights[index + 1];
	return mean * (low + ((__u64)(high - low) * rest >> 10)) >> 20;
}

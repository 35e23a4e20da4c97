/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the waits that become samples: as many as allowed, each with a known probability. */
#pragma once

#include "bpf/wait.bpf.h"

#define CERTAIN (1ull << 32)
/* scale is in units of 2^-SCALE_SHIFT per WAIT_MEAN_NS. */
#define SCALE_SHIFT 40
#define SCALE_MAX (1ull << SCALE_SHIFT)
/* Maximum factor by which a window changes the scale: 64. In units of 2^-16. */
#define FACTOR_MIN (1u << 10)
#define FACTOR_MAX (1u << 22)

/*
 * Scales the probabilities such that the expected number of stacks in the last window would have
 * been the allowed one.
 */
__noinline int begin_wait_window(struct switch_state *st, __u64 now)
{
	__u64 factor;

	if (!st)
		return 0;
	if (!st->random)
		st->random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	factor = ((__u64)config.wait_quota << 32) / ((st->expected >> 16) | 1);
	if (!st->window || now - st->window >= 2 * config.wait_window_ns)
		factor = FACTOR_MAX;
	if (factor < FACTOR_MIN)
		factor = FACTOR_MIN;
	if (factor > FACTOR_MAX)
		factor = FACTOR_MAX;
	st->scale = (st->window ? st->scale >> 8 : SCALE_MAX) * factor >> 8;
	if (st->scale > SCALE_MAX)
		st->scale = SCALE_MAX;
	st->window = now;
	st->expected = st->taken = 0;
	return 0;
}

/* An xorshift generator: a helper call takes longer than the rest of the decision. */
static __always_inline __u32 next_random(struct switch_state *st)
{
	__u64 x = st->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	st->random = x;
	return x * 0x2545f4914f6cdd1dull >> 32;
}

/*
 * Decides whether a wait of the thread becomes a sample and sets row->chance. The probability is
 * proportional to the mean length of the thread's waits: by number alone, a thread that rarely
 * waits would hardly be seen next to one that always does. It never depends on this wait's own
 * draw, so sums of length / probability are unbiased. Stacks with many runtime frames count as
 * several.
 */
static __always_inline bool choose_wait(struct switch_state *st, struct wait_row *row, __u64 now)
{
	__u32 cost = 1 + row->frames;
	__u64 chance;

	row->chance = 0;
	if (!config.wait_quota)
		return true;
	if (now - st->window >= config.wait_window_ns)
		begin_wait_window(st, now);
	chance = row->mean * st->scale >> (SCALE_SHIFT - 32);
	if (chance > CERTAIN)
		chance = CERTAIN;
	st->expected += chance * cost;
	if (chance < CERTAIN) {
		row->chance = chance ? chance : 1;
		if (next_random(st) >= row->chance)
			return false;
	}
	st->taken += cost;
	if (st->taken >= config.wait_quota) {
		st->taken = config.wait_quota - config.wait_quota / 4 - 1;
		st->scale = st->scale / 2 + 1;
	}
	return true;
}

/* Updates the mean when a wait of the thread has ended. */
static __always_inline void note_length(struct wait_row *row, __u64 length)
{
	__u64 units = (length >> WAIT_MEAN_SHIFT) + 1;
	__u32 mean = row->mean;

	if (units > WAIT_MEAN_MAX)
		units = WAIT_MEAN_MAX;
	row->mean = mean - mean / 8 + (__u32)units / 8;
	if (!row->mean)
		row->mean = 1;
}

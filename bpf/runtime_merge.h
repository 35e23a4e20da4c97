/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Inserts the frames of a runtime among the native ones: a group replaces the C frame of the
 * interpreter call that executes it, which is the C frame that contains the group's address. Frames
 * of compiled code, without such a call, follow the frames inside them, or the leaf. Compiled as
 * BPF and natively, like walk.h.
 */
#pragma once

#include <linux/types.h>

#define MERGE_INLINE static inline __attribute__((always_inline))

/* Progress of a merge, from the innermost frame outwards. */
struct merge {
	__u32 native, native_count; /* the next native frame after the leaf */
	__u32 managed, managed_count; /* the next frame of the runtime */
	__u32 in_group; /* the next runtime frame belongs to the group being placed */
	__u32 keeps_interpreter; /* keep native frames next to those that they execute */
	__u32 leaf_replaced; /* the leaf is the interpreter of the first group */
	__u32 placed; /* native frames up to the last one that contains a group */
	/*
	 * The stack ends early and may lack frames: runtime frames contained in no native frame are
	 * inserted by their positions. The native frames between them are unknown.
	 */
	__u32 ends_early;
	__u32 leaf_count; /* native frames that belong to the leaf */
	__u64 reached; /* sp of the last native frame; positions beyond it must ascend */
};

enum merge_step {
	MERGE_END, /* all native frames are placed */
	MERGE_NATIVE, /* the next frame is native frame m->native */
	MERGE_MANAGED, /* the next frame is runtime frame m->managed */
	MERGE_NOTHING, /* the next native frame is left out */
};

/* Returns whether the C frame [sp, end) contains the address. end 0: unknown. */
MERGE_INLINE int merge_holds(__u64 sp, __u64 end, __u64 place)
{
	return place && place >= (sp & ~1ull) && place < (end & ~1ull);
}

/*
 * Begins a merge: `top_sp` is the leaf's sp if it is a native frame, `first_sp` that of the first
 * native frame after it; `place` is the first group's, 0 if it has none.
 */
MERGE_INLINE void merge_begin(struct merge *m, __u64 top_sp, __u64 first_sp, __u64 place)
{
	m->native = m->managed = m->in_group = m->leaf_replaced = m->placed = 0;
	m->reached = 0;
	m->leaf_count = top_sp == ~0ull;
	if (!m->managed_count || !merge_holds(top_sp, first_sp, place))
		return;
	m->in_group = 1;
	m->leaf_replaced = !m->keeps_interpreter;
}

/*
 * Decides on the next frame. `sp` and `end` bound native frame m->native, `place` is that of frame
 * m->managed, 0 after the last one. `is_signal`: the native frame was interrupted by a signal; it
 * stays, because it names the frame inside it.
 */
MERGE_INLINE enum merge_step merge_step(const struct merge *m, __u64 sp, __u64 end, __u64 place,
					int is_signal)
{
	int is_apart = m->ends_early && m->managed < m->managed_count && place > m->reached;

	if (m->in_group)
		return MERGE_MANAGED;
	if (m->managed < m->managed_count && !place)
		return m->native < m->leaf_count ? MERGE_NATIVE : MERGE_MANAGED;
	if (m->native >= m->native_count)
		return is_apart ? MERGE_MANAGED : MERGE_END;
	/* A stack with guesses may lack frames. */
	if (is_apart && place < (sp & ~1ull))
		return MERGE_MANAGED;
	if (m->managed < m->managed_count && merge_holds(sp, end, place))
		return m->keeps_interpreter || is_signal ? MERGE_NATIVE : MERGE_NOTHING;
	return MERGE_NATIVE;
}

/* Advances past the step. `next_place` is that of frame m->managed + 1. */
MERGE_INLINE void merge_advance(struct merge *m, enum merge_step step, __u64 sp, __u64 end,
				__u64 place, __u64 next_place)
{
	if (step == MERGE_MANAGED) {
		m->managed++;
		if (place > m->reached)
			m->reached = place;
		m->in_group = m->managed < m->managed_count && !next_place;
		return;
	}
	if (m->managed < m->managed_count && merge_holds(sp, end, place)) {
		m->in_group = 1;
		m->placed = m->native + 1;
	}
	m->native++;
	m->reached = sp & ~1ull;
}

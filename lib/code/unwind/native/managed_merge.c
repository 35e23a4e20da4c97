/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/managed_merge.h"

#include "bpf/runtime_merge.h"

static uint64_t place_of(const struct managed_merge *in, uint32_t i)
{
	return i < in->managed_count ? in->managed[i].place : 0;
}

/* Returns where the C frame ends: at the next one's sp. */
static uint64_t end_of(const struct managed_merge *in, uint32_t i)
{
	if (i + 1 < in->depth)
		return in->sps[i + 1];
	return in->is_whole ? UINT64_MAX : 0;
}

static bool is_signal(const struct managed_merge *in, uint32_t i)
{
	return i < in->depth && in->kinds[i] == FRAME_SIGNAL;
}

struct managed_merge_result managed_merge(const struct managed_merge *in, uint64_t *addrs,
					  uint8_t *kinds, uint32_t capacity)
{
	struct managed_merge_result result = {0};
	struct merge m = {
		.native_count = in->depth,
		.managed_count = in->managed_count,
		.keeps_interpreter = in->keeps_interpreter,
		.ends_early = !in->is_whole && in->depth + in->managed_count <= capacity,
	};
	uint64_t first = in->depth ? in->sps[0] : in->is_whole ? UINT64_MAX : 0;

	merge_begin(&m, in->top_sp, first, place_of(in, 0));
	result.leaf_replaced = m.leaf_replaced;
	for (;;) {
		uint64_t sp = m.native < in->depth ? in->sps[m.native] : 0;
		uint64_t end = end_of(in, m.native), place = place_of(in, m.managed);
		enum merge_step step = merge_step(&m, sp, end, place, is_signal(in, m.native));

		if (step == MERGE_END)
			break;
		if (step != MERGE_NOTHING && result.depth == capacity) {
			result.is_truncated = true;
			break;
		}
		if (step == MERGE_NATIVE) {
			addrs[result.depth] = in->addrs[m.native];
			kinds[result.depth++] = in->kinds[m.native];
		} else if (step == MERGE_MANAGED) {
			addrs[result.depth] = in->managed[m.managed].position;
			kinds[result.depth++] = FRAME_MANAGED;
		}
		merge_advance(&m, step, sp, end, place, place_of(in, m.managed + 1));
	}
	result.left = in->managed_count - m.managed;
	return result;
}

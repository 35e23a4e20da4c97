/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Return addresses in compiled methods, which most frames of a stack have, and most of those that
 * the stack before had. What was found of one holds as long as its code has the same number.
 */
#ifndef PROF_BPF_RUNTIMES_HOTSPOT_RETURNED_BPF_H
#define PROF_BPF_RUNTIMES_HOTSPOT_RETURNED_BPF_H

#include "bpf/runtimes/hotspot.bpf.h"

#define HOTSPOT_RETURNED (1 << 10) /* a power of two */

struct hotspot_return {
	__u64 pc, process;
	__u64 blob;
	__u64 position; /* of the frame */
	__u32 frame_size, compile_id;
};

/* Entries are never torn: programs with the same memory do not interrupt each other on a CPU. */
struct hotspot_returned {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HOTSPOT_RETURNED);
	__type(key, __u32);
	__type(value, struct hotspot_return);
};

struct hotspot_returned hotspot_returned SEC(".maps");

static __always_inline struct hotspot_return *hotspot_return_slot(__u64 pc)
{
	__u32 slot = ((__u32)pc * 0x9e3779b1u) >> 22;

	return bpf_map_lookup_elem(&hotspot_returned, &slot);
}
_Static_assert(HOTSPOT_RETURNED == 1 << (32 - 22), "slots are the upper bits of a hash");

/* Keeps what was found of the frame that was left, if the next one like it can be left alike. */
static __always_inline void hotspot_keep_return(const struct hotspot_run *r, __u64 pc,
						__u64 position)
{
	const struct hotspot_found *found = &r->walk.found;
	struct hotspot_return *known = hotspot_return_slot(pc);

	if (!known || found->is_deoptimized || found->function != HOTSPOT_COMPILED ||
	    position < MANAGED_POSITION_FIRST)
		return;
	known->pc = pc;
	known->process = r->process;
	known->blob = found->blob;
	known->position = position;
	known->frame_size = found->frame_size;
	known->compile_id = found->compile_id;
}

static __always_inline bool hotspot_is_known(const struct hotspot_run *r,
					     const struct hotspot_return *known, __u64 pc)
{
	return known && known->pc == pc && known->process == r->process;
}

/* Steps from a frame that is known. Returns its position; 0: it is not known, or has changed. */
__noinline __u64 hotspot_step_known(struct stack_scratch *s, struct hotspot_run *r)
{
	struct hotspot_return *known;
	__u64 pair[2], position, size;
	__u32 id;

	if (!s || !r || s->frame.is_pc)
		return 0;
	known = hotspot_return_slot(s->frame.pc);
	if (!hotspot_is_known(r, known, s->frame.pc))
		return 0;
	size = known->frame_size;
	position = known->position;
	if (hotspot_read(&id, sizeof(id), known->blob + r->walk.layout.compile_id) ||
	    id != known->compile_id || walk_read_pair(&s->frame, pair, s->frame.sp + size - 16))
		return 0;
	if (!hotspot_is_known(r, hotspot_return_slot(pair[1]), pair[1]) &&
	    !hotspot_returns(&r->walk, pair[1]))
		return 0;
	return hotspot_leave(&s->frame, pair[1], s->frame.sp + size, pair[0]) ? position : 0;
}

#endif

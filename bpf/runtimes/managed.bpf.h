/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The scratch of a runtime's program. Include this before copy.bpf.h. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/runtime_merge.h"

/* A map of a runtime, which such programs have of their own. */
#ifdef HAS_OWN_RUNTIME_SCRATCH
#define OWN_MAP(name) own_##name
#else
#define OWN_MAP(name) name
#endif

/* Has copies carry the frames. */
#define HAS_MANAGED_FRAMES

/* One per CPU. */
struct managed_scratch {
	struct managed_frame frames[MANAGED_MAX];
	__u32 count; /* of frames */
	__u32 group; /* first frame of the group that is being walked */
	struct rec like; /* header of the sample */
	__u32 is_cut; /* there are more frames: the stack ends with the last of these */
	/* The frames and native ones together. */
	struct merge merge;
	__u32 depth;
	/* For merge.bpf.h. */
	__u64 process; /* identifies the process; 0: the interpreter's calls are not learned */
	__u32 placed_depth; /* 1 + depth of the outermost frame's end; 0: some have no place yet */
	__u32 is_foreign; /* native frames further out are another chain's */
	__u64 foreign_sp; /* place of the first one known to be foreign, 0 if none */
	__u64 addrs[USER_DEPTH_MAX];
	__u8 kinds[USER_DEPTH_MAX];
};

struct managed_scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct managed_scratch);
};

struct managed_scratches managed_scratches SEC(".maps");

static __always_inline struct managed_scratch *own_managed_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&managed_scratches, &zero);
}

/*
 * Adds a runtime's frames to the stack in s, whose native ones lie where `notes` says. `like` is
 * the header of its sample. Returns how many.
 */
typedef __u32 add_frames_fn(struct stack_scratch *s, struct runtime_scratch *notes,
			    const struct rec *like);

/*
 * Leaves the stack to the process's next runtime, by a tail call in `programs`, or returns if there
 * is none, or it has no program there. `found`: number of frames of this one, whose thread then
 * hardly lacks those of a runtime that is not read.
 */
#define go_to_next_runtime(ctx, programs, s, found) \
	({ \
		if (turn_to_next_runtime(s)) { \
			bpf_tail_call(ctx, programs, (s)->runtime); \
			if (runtime_adds_frames((s)->runtime) && \
			    !(found && (s)->runtime == RUNTIME_UNREAD)) \
				count_runtime_missed((s)->runtime); \
		} \
	})

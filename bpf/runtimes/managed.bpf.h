/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The scratch of a runtime's program. Include this before copy.bpf.h. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/runtime_merge.h"

/* A map that each runtime's programs have for themselves. */
#ifdef HAS_OWN_RUNTIME_SCRATCH
#define OWN_MAP(name) own_##name
#else
#define OWN_MAP(name) name
#endif

/* Makes copies include the frames. */
#define HAS_MANAGED_FRAMES

/* One per CPU. */
struct managed_scratch {
	struct managed_frame frames[MANAGED_MAX];
	__u32 count; /* number of frames */
	__u32 group; /* first frame of the current group */
	struct rec like; /* header of the sample */
	__u32 is_cut; /* more frames exist: the stack ends with the last of these */
	__u32 is_split; /* the outermost frames lie on another stack, and follow all of this one */
	/* The runtime's frames merged with the native ones. */
	struct merge merge;
	__u32 depth;
	/* For merge.bpf.h. */
	__u64 process; /* identifies the process; 0: interpreter calls are not learned */
	__u32 placed_depth; /* 1 + depth of the outermost frame's end; 0: some are not placed yet */
	__u32 is_foreign; /* native frames further out belong to another chain */
	__u64 foreign_sp; /* position of the first frame known to be foreign, 0 if none */
	__u64 addrs[USER_DEPTH_MAX];
	__u8 kinds[USER_DEPTH_MAX];
};

PER_CPU(struct managed_scratch, managed_scratches, own_managed_scratch)

/*
 * A word or half of one, at a byte offset in the `count` words of a structure that was read; a
 * layout's are trusted to be in it.
 */
static __always_inline __u64 word_at(const __u64 *words, __u32 at, __u32 count)
{
	at /= 8;
	barrier_var(at);
	return at < count ? words[at] : 0;
}

static __always_inline __u32 half_at(const __u64 *words, __u32 at, __u32 count)
{
	return word_at(words, at, count) >> (at & 4) * 8;
}

/* The place of code that another stack resumes: beyond all native frames. */
#define PLACE_BEYOND (~1ull)

/* Begins a stack of a runtime whose calls each have their own place. */
static __always_inline void begin_frames(struct managed_scratch *m, const struct rec *like,
					 struct runtime_counters *count)
{
	count->samples++;
	m->like = *like;
	m->process = m->foreign_sp = 0;
	m->count = 0;
}

/* Adds a frame to the group. False: no room. */
static __always_inline bool add_frame(struct managed_scratch *m, __u64 position, __u64 place)
{
	__u32 at = m->count;

	barrier_var(at);
	if (at >= MANAGED_MAX)
		return false;
	m->frames[at].position = position;
	m->frames[at].place = place;
	m->count = at + 1;
	return true;
}

/* Returns an address in the code of native frame `i` after the leaf. */
static __always_inline __u64 native_code(const struct stack_scratch *s, __u32 i)
{
	__u32 at = s->kernel_depth + i;
	__u64 pc;

	barrier_var(at);
	pc = at < DEPTH_MAX ? s->words[HEADER_WORDS + at] : 0;
	return i || !(s->sample_flags & SAMPLE_LEAF_KERNEL) ? pc - 1 /* a return address */ : pc;
}

/* Returns whether it is in one of an interpreter's two pieces of code. */
static __always_inline bool is_in_code(const __u64 *starts, const __u64 *ends, __u64 vaddr)
{
	return (vaddr >= starts[0] && vaddr < ends[0]) || (vaddr >= starts[1] && vaddr < ends[1]);
}

/* Replaces the address of the frame entered last, or the leaf. */
static __always_inline void replace_frame(struct stack_scratch *s, __u64 addr)
{
	__u32 depth = s->user_depth, at = s->kernel_depth + depth - 1;

	barrier_var(at); /* as in sum_of() */
	if (!depth)
		s->leaf = addr;
	else if (at < DEPTH_MAX)
		s->words[HEADER_WORDS + at] = addr;
}

/* Returns the layout of the runtime whose turn it is; NULL: it is of another kind. */
static __always_inline const struct runtime_layout *layout_of(const struct stack_scratch *s,
							      __u32 kind)
{
	__u32 number = s->space.runtimes[0].layout;
	struct runtime_layout *layout = bpf_map_lookup_elem(&runtime_layouts, &number);

	return layout && layout->kind == kind ? layout : NULL;
}

/*
 * Returns a hash that identifies the process, and the runtime in it: there may be several, of
 * different versions.
 */
static __always_inline __u64 hash_process(const struct stack_scratch *s,
					  const struct task_struct *task,
					  const struct tracked_process *process)
{
	return mix_bits(process->start + s->space.runtimes[0].bias +
			mix_bits(task->tgid + ((__u64)s->space.execs << 32)));
}

/*
 * Adds a runtime's frames to the stack in s, whose native frames lie at the positions in `notes`.
 * `like` is the header of its sample. Returns the number of frames.
 */
typedef __u32 add_frames_fn(struct stack_scratch *s, struct runtime_scratch *notes,
			    const struct rec *like);

/*
 * Passes the stack to the process's next runtime by a tail call into `programs`. Returns if there
 * is none, or none with a program there. `found`: number of frames of this runtime; if there are
 * any, the thread probably runs no runtime that is not supported.
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

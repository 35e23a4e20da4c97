/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inserts the frames of a runtime into the stack. */
#pragma once

#include "bpf/runtimes/managed.bpf.h"
#include "bpf/stack_scratch.bpf.h"
#include "bpf/tables.bpf.h"

/*
 * The C frames of an interpreter, learned from those that contain runtime frames. A similar C frame
 * further out than all of the thread's frames belongs to another chain: each greenlet has its own
 * chain but lies on its creator's stack, whose frames may be stale. The stack is cut before that
 * frame.
 */

#define CALL_SHAPES 256 /* a power of two */
#define CALLS_MAX (1 << 10) /* a power of two */
#define SHAPE_VOTES_MAX 64
#define SHAPE_VOTES_MIN 4

/*
 * Distance from a group's position to the end of its C frame, a constant of the interpreter's
 * build. Frames may be misplaced during a greenlet switch, so most observations must agree.
 */
struct call_shape {
	__u64 process;
	__u64 distance;
	__u64 votes;
};

struct call_shapes {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALL_SHAPES);
	__type(key, __u32);
	__type(value, struct call_shape);
};

/* Hashes of return addresses found in such frames. */
struct calls {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS_MAX);
	__type(key, __u32);
	__type(value, __u64);
};

struct call_shapes call_shapes SEC(".maps");
struct calls calls SEC(".maps");

/* Returns whether the C frame has the interpreter's shape, and counts its own as an observation. */
static __always_inline bool has_call_shape(__u64 process, __u64 distance)
{
	__u32 slot = process & (CALL_SHAPES - 1);
	struct call_shape *shape = bpf_map_lookup_elem(&call_shapes, &slot);

	if (!shape)
		return false;
	if (shape->process != process || !shape->votes) {
		shape->process = process;
		shape->distance = distance;
		shape->votes = 1;
		return false;
	}
	if (shape->distance != distance) {
		shape->votes--;
		return false;
	}
	if (shape->votes < SHAPE_VOTES_MAX)
		shape->votes++;
	return shape->votes > SHAPE_VOTES_MIN;
}

static __always_inline __u64 *call_slot(__u64 hash)
{
	__u32 slot = hash >> 32 & (CALLS_MAX - 1);

	return bpf_map_lookup_elem(&calls, &slot);
}

/* Learns from the native frame at `addr`, which ends at `end` and contains `place`. */
__noinline int learn_call(struct managed_scratch *m, __u64 addr, __u64 place, __u64 end)
{
	__u64 hash, *known;

	if (!m || !m->process || !has_call_shape(m->process, (end & ~1ull) - place))
		return 0;
	hash = mix_bits(addr ^ m->process);
	known = call_slot(hash);
	if (known)
		*known = hash;
	return 0;
}

/* Returns whether the native frame at `addr`, which contains no group, belongs to another chain. */
static __always_inline bool is_foreign_call(struct managed_scratch *m, __u64 addr)
{
	__u64 hash, *known;

	if (!m->process || !m->placed_depth)
		return false;
	hash = mix_bits(addr ^ m->process);
	known = call_slot(hash);
	return known && *known == hash;
}

/* Returns whether the native frame at `sp` is known to belong to another chain. */
static __always_inline bool is_foreign_place(const struct managed_scratch *m, __u64 sp)
{
	return m->foreign_sp && m->placed_depth && m->foreign_sp == (sp & ~1ull);
}

/* Positions of the merged frames, as in runtime_scratch. */
struct merged_places {
	__u64 sps[USER_DEPTH_MAX];
};

PER_CPU(struct merged_places, OWN_MAP(merged_places), places_of_merged)

/* Returns whether another runtime needs the frames' positions. */
static __always_inline bool keeps_places(const struct stack_scratch *s)
{
	return s->space.runtimes[1].kind;
}

/* Keeps the position of the frame stored next. */
static __always_inline void keep_place(__u32 out, __u64 sp)
{
	struct merged_places *places = places_of_merged();

	barrier_var(out);
	if (places && out < USER_DEPTH_MAX)
		places->sps[out] = sp;
}

struct merge_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
};

/* Stores the next frame. False: no room. */
static __always_inline bool put_frame(struct stack_scratch *s, struct managed_scratch *m,
				      __u64 addr, __u8 kind)
{
	__u32 out = m->depth;

	/* Older verifiers forget the bounds of a number that is spilled. */
	barrier_var(out);
	if (out >= USER_DEPTH_MAX)
		return false;
	m->addrs[out] = addr;
	m->kinds[out] = kind;
	s->sums[out] = s->sum = sum_frame(s->sum, addr, kind);
	m->depth = out + 1;
	return true;
}

/* Stores the next frame of the two chains. */
static __always_inline bool merge_frame(struct stack_scratch *s, struct runtime_scratch *notes,
					struct managed_scratch *m)
{
	__u32 native = m->merge.native, managed = m->merge.managed;
	__u32 next = native + 1, after = managed + 1, at = s->kernel_depth + native;
	__u64 sp, end, place = 0, next_place = 0, addr;
	enum merge_step step;
	__u8 kind;

	barrier_var(at); /* as in put_frame() */
	if (native >= USER_DEPTH_MAX || managed > MANAGED_MAX || at >= DEPTH_MAX)
		return false;
	sp = notes->sps[native];
	/* Nothing follows the last frame of a complete stack. */
	end = s->stack_flags & STACK_WHOLE ? ~0ull : 0;
	if (next < m->merge.native_count && next < USER_DEPTH_MAX)
		end = notes->sps[next];
	if (managed < MANAGED_MAX && managed < m->merge.managed_count)
		place = m->frames[managed].place;
	if (after < MANAGED_MAX)
		next_place = m->frames[after].place;
	addr = s->words[HEADER_WORDS + at];
	kind = s->kinds[at];
	step = merge_step(&m->merge, sp, end, place, kind == FRAME_SIGNAL);
	if (step == MERGE_END)
		return false;
	if (step != MERGE_MANAGED && merge_holds(sp, end, place)) {
		learn_call(m, addr, place, end);
	} else if (step == MERGE_NATIVE && (is_foreign_call(m, addr) || is_foreign_place(m, sp))) {
		m->is_foreign = 1;
		return false;
	}
	if (step != MERGE_NOTHING) {
		if (step == MERGE_MANAGED) {
			if (managed >= MANAGED_MAX)
				return false;
			addr = m->frames[managed].position;
			kind = FRAME_MANAGED;
		}
		if (keeps_places(s))
			keep_place(m->depth, step == MERGE_MANAGED ? m->merge.reached : sp);
		if (!put_frame(s, m, addr, kind))
			return false;
	}
	merge_advance(&m->merge, step, sp, end, place, next_place);
	if (step == MERGE_MANAGED && m->merge.managed >= m->merge.managed_count)
		m->placed_depth = m->depth + 1;
	return true;
}

__noinline int merge_turn(struct stack_scratch *s, struct runtime_scratch *notes,
			  struct managed_scratch *m)
{
	if (!s || !notes || !m || (m->is_cut && m->merge.managed >= m->merge.managed_count))
		return false;
	return merge_frame(s, notes, m);
}

LOOP_CALLBACK(merge_next, merge_loop, merge_turn(loop->s, loop->notes, loop->m))

/* Replaces the leaf by the first frame, which it executes. */
static __always_inline void replace_leaf(struct stack_scratch *s, struct managed_scratch *m)
{
	s->leaf = m->frames[0].position;
	s->sample_flags |= SAMPLE_LEAF_MANAGED;
	m->merge.managed = 1;
	m->merge.in_group = m->count > 1 && !m->frames[1].place;
	m->placed_depth = m->count == 1;
}

/* Ends the stack after the last frame of the runtime, at the root of its chain. */
static __always_inline void cut_foreign(struct stack_scratch *s, struct managed_scratch *m)
{
	m->depth = m->placed_depth - 1;
	s->sum = sum_of(s, m->depth);
	s->stack_flags &= ~(STACK_TRUNCATED | STACK_BROKEN);
	s->stack_flags |= STACK_WHOLE;
}

/* Notes the positions of the merged frames for the next runtime. */
static __always_inline void note_places(const struct stack_scratch *s,
					struct runtime_scratch *notes, __u32 depth)
{
	struct merged_places *places = keeps_places(s) ? places_of_merged() : NULL;

	if (places)
		bpf_probe_read_kernel(notes->sps, depth * 8, places->sps);
}

/* Inserts the frames into the stack. Returns the number left over. */
__noinline int merge_frames(struct stack_scratch *s, struct runtime_scratch *notes,
			    struct managed_scratch *m)
{
	struct merge_loop loop = {.s = s, .notes = notes, .m = m};
	__u32 depth, kernel_depth;
	__u64 end;

	if (!s || !notes || !m)
		return 0;
	m->depth = m->placed_depth = m->is_foreign = 0;
	m->merge.native_count = s->user_depth;
	m->merge.managed_count = m->count;
	m->merge.keeps_interpreter = config.interpreter_frames;
	/* Without a branch, which verifiers would follow both ways. */
	m->merge.ends_early = (s->stack_flags & STACK_BROKEN) | m->is_split;
	end = s->user_depth ? notes->sps[0] : s->stack_flags & STACK_WHOLE ? ~0ull : 0;
	merge_begin(&m->merge, s->sample_flags & SAMPLE_LEAF_KERNEL ? ~0ull : s->top_sp, end,
		    m->frames[0].place);
	if (m->merge.leaf_replaced)
		replace_leaf(s, m);
	s->sum = 0;
	bpf_loop(USER_DEPTH_MAX + MANAGED_MAX, merge_next, &loop, 0);
	if (m->is_foreign)
		cut_foreign(s, m);
	depth = m->depth;
	kernel_depth = s->kernel_depth;
	if (!m->is_foreign && (m->merge.native < s->user_depth || m->merge.in_group)) {
		s->stack_flags |= STACK_TRUNCATED;
		s->stack_flags &= ~(STACK_WHOLE | STACK_BROKEN);
	}
	if (depth > USER_DEPTH_MAX || kernel_depth > KERNEL_DEPTH_MAX)
		return 0;
	bpf_probe_read_kernel(s->words + HEADER_WORDS + kernel_depth, depth * 8, m->addrs);
	bpf_probe_read_kernel(s->kinds + kernel_depth, depth, m->kinds);
	note_places(s, notes, depth);
	s->user_depth = depth;
	return m->count - m->merge.managed;
}

/* Inserts the frames, and counts the outcome. */
static __always_inline void merge_walked(struct stack_scratch *s, struct runtime_scratch *notes,
					 struct managed_scratch *m, __u32 torn,
					 struct runtime_counters *count)
{
	if (merge_frames(s, notes, m))
		count->unplaced++;
	else if (!torn)
		count->whole++;
}

/* The same, also for stacks that are walked later, and threads without frames. */
static __always_inline void place_walked(struct stack_scratch *s, struct runtime_scratch *notes,
					 struct managed_scratch *m, __u32 torn,
					 struct runtime_counters *count)
{
	bool is_copied = s->stack_flags & STACK_UNKNOWN;

	if (is_copied)
		s->managed_count = m->count;
	else if (torn == 2)
		count->cut++;
	if (!m->count)
		count->idle++;
	else if (is_copied)
		count->copied++;
	else
		merge_walked(s, notes, m, torn, count);
}

/*
 * Notes how many frames a walk of the process found. Structures caught in a change are consistent
 * in a later walk; if they never are, the runtime is something else, or misleading on purpose.
 */
static __always_inline void note_walk(const struct stack_scratch *s, const struct rec *like,
				      __u32 found, __u32 torn)
{
	bool has_misled = torn == 1, has_led = found && !torn;
	const struct space_runtime *walked = &s->space.runtimes[0];
	struct runtime_counters *count;
	struct space_runtime *runtime;
	struct unwind_space *space;
	__u32 at = walked->at;

	if (!has_misled && !(has_led && walked->misled))
		return;
	count = own_runtime_counters(walked->kind);
	space = bpf_map_lookup_elem(&unwind_spaces, &like->pid);
	barrier_var(at);
	if (!space || !count || at >= SPACE_RUNTIMES)
		return;
	runtime = &space->runtimes[at];
	if (runtime->layout != walked->layout || runtime->bias != walked->bias)
		return;
	runtime->misled = has_misled ? runtime->misled + 1 : 0;
	if (runtime->misled == RUNTIME_MISLED_MAX)
		count->abandoned++;
}

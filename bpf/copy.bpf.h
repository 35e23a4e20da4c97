/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies the registers and stack of a task whose code has no unwind tables in the kernel yet: the
 * process is new or has just loaded a library. User space unwinds such stacks a moment later.
 */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/live_record.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_scratch.bpf.h"

#define COPY_PAGE 4096u
/*
 * Extent of the copy above fp. Functions that keep a frame pointer have their callers' registers
 * there; leaf functions may use fp freely: OpenSSL's SHA-256 keeps its CFA there.
 */
#define COPY_RED_ZONE 128u
/* Extent of the copy above the first frame, where arguments and environment lie. */
#define COPY_ABOVE_START 128u

_Static_assert((KERNEL_DEPTH_MAX & (KERNEL_DEPTH_MAX + 1)) == 0, "a mask of bits");

#define COPY_HEADER_WORDS (sizeof(struct rec_copy) / 8)
#define COPY_STACKS_WORDS (KERNEL_DEPTH_MAX + COPY_BYTES_MAX / 8)
/* Maximum runtime frames in a copy; the rest is left out. */
#define COPY_MANAGED_MAX 256
#define COPY_BOTH_WORDS (COPY_STACKS_WORDS + COPY_OTHER_MAX / 8)
#define COPY_BODY_WORDS (COPY_BOTH_WORDS + COPY_MANAGED_MAX * sizeof(struct managed_frame) / 8)

struct copy_scratch {
	__u64 words[COPY_HEADER_WORDS + COPY_BODY_WORDS]; /* a struct rec_copy */
	__u64 window; /* start of the window, ns */
	__u32 used; /* bytes copied in this window */
	/* Variables of copy_stack(): the verifier does not follow values in map memory. */
	__u64 sp;
	__u32 at, want, done;
};

/*
 * One per CPU, by its number: per-CPU maps are limited to 32 kB. User space finds such maps by the
 * suffix of their names.
 */
struct copies {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the number of CPUs that may copy, set by user space */
	__type(key, __u32);
	__type(value, struct copy_scratch);
};

struct copies copies SEC(".maps");

static __always_inline struct copy_scratch *own_copy(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&copies, &cpu);
}

static __always_inline bool may_copy(struct copy_scratch *c, __u64 now, __u32 limit)
{
	if (now - c->window >= COPY_WINDOW_NS) {
		c->window = now;
		c->used = 0;
	}
	return c->used < limit;
}

/* Returns the bytes of stack worth copying. */
static __always_inline __u32 stack_bytes(struct task_struct *task, __u64 sp)
{
	__u64 start = BPF_CORE_READ(task, mm, start_stack);

	/*
	 * The end of the main thread's stack is known. Copies of other stacks end where memory
	 * does.
	 */
	if (sp < start && start - sp < COPY_BYTES_MAX - COPY_ABOVE_START)
		return (__u32)(start - sp + COPY_ABOVE_START) & ~7u;
	return COPY_BYTES_MAX;
}

/*
 * Returns the bytes to copy below sp. They stay on sp's page: the page below may be unmapped, and
 * then nothing would be copied.
 */
static __always_inline __u32 below_sp(__u64 sp)
{
	__u32 on_page = sp & (COPY_PAGE - 1);

	return (on_page < COPY_RED_ZONE ? on_page : COPY_RED_ZONE) & ~7u;
}

struct copy_loop {
	struct copy_scratch *c;
};

static long copy_page(__u32 i, void *ctx)
{
	struct copy_scratch *c = ((struct copy_loop *)ctx)->c;
	__u32 at = c->at, done = c->done, want = c->want;
	__u32 size = COPY_PAGE - ((c->sp + done) & (COPY_PAGE - 1));

	if (done >= want || done > COPY_BYTES_MAX - COPY_PAGE || at > KERNEL_DEPTH_MAX)
		return 1;
	if (size > want - done)
		size = want - done;
	/* Impossible, but only the compiler can prove it, not the verifier. */
	barrier_var(size);
	if (!size || size > COPY_PAGE)
		return 1;
	if (bpf_probe_read_user((void *)(c->words + COPY_HEADER_WORDS + at) + done, size,
				(const void *)(c->sp + done)))
		return 1;
	c->done = done + size;
	return 0;
}

/* Copies page by page up to the first unreadable one. Returns bytes, a multiple of 8. */
static __always_inline __u32 copy_stack(struct copy_scratch *c, __u32 at, __u64 sp, __u32 want)
{
	struct copy_loop loop = {c};

	c->sp = sp;
	c->at = at;
	c->want = want;
	c->done = 0;
	bpf_loop(COPY_BYTES_MAX / COPY_PAGE + 1, copy_page, &loop, 0);
	return c->done & ~7u;
}

/* Offsets of m in a g, and of the goroutine in an m up to Go 1.25 and since then; in words. */
#define GO_M 6
#define GO_CURG 24
#define GO_CURG_1_26 23

/*
 * Copies the structures that lead to the other stack of a Go program and, to word `at` of the copy,
 * that stack. Returns its bytes. Failures are not checked: unreadable memory yields 0, and nothing
 * is readable at address 0. User space checks the result against the layout, which it has by then.
 */
__noinline int copy_go(struct copy_scratch *c, __u32 at)
{
	struct rec_copy *rec = (struct rec_copy *)c;
	__u64 current, sp, size;
	struct copied_go *go;

	if (!c || at > COPY_STACKS_WORDS)
		return 0;
	go = &rec->go;
	go->thread = walk_thread_pointer(unused);
	/* arm64 keeps g in a register, other machines below all other thread-local variables. */
	go->g = rec->general[28];
	if (!IS_ARM64)
		bpf_probe_read_user(&go->g, 8, (const void *)(go->thread - 8));
	bpf_probe_read_user(go->g_words, sizeof(go->g_words), (const void *)go->g);
	go->m = go->g_words[GO_M];
	bpf_probe_read_user(go->m_words, sizeof(go->m_words), (const void *)go->m);
	current = go->m_words[GO_CURG];
	if (!current)
		current = go->m_words[GO_CURG_1_26];
	/* The first word of m is the g of its system stack. */
	go->other = current == go->g ? go->m_words[0] : current;
	bpf_probe_read_user(go->other_words, sizeof(go->other_words), (const void *)go->other);
	sp = go->other_words[COPIED_SP_AT] - COPIED_BELOW_SP;
	size = go->other_words[1] - sp;
	if (size > COPY_OTHER_MAX)
		size = COPY_OTHER_MAX;
	size &= ~7u;
	if (bpf_probe_read_user(c->words + COPY_HEADER_WORDS + at, size, (const void *)sp))
		return 0;
	return size;
}

/* Copies the runtime's frames after `at` words of the body. Returns their number. */
static __always_inline __u32 copy_managed(struct copy_scratch *c, const struct stack_scratch *s,
					  __u32 at)
{
#ifdef HAS_MANAGED_FRAMES
	struct managed_scratch *m = s->managed_count ? own_managed_scratch() : NULL;
	__u32 count = s->managed_count;

	if (!m || !count || at > COPY_BOTH_WORDS)
		return 0;
	if (count > COPY_MANAGED_MAX)
		count = COPY_MANAGED_MAX;
	barrier_var(count);
	if (count > COPY_MANAGED_MAX ||
	    bpf_probe_read_kernel(c->words + COPY_HEADER_WORDS + at,
				  count * sizeof(struct managed_frame), m->frames))
		return 0;
	return count;
#else
	return 0;
#endif
}

static __always_inline void fill_regs(struct rec_copy *rec, const struct stack_scratch *s)
{
	/* Steps leave frame.other alone: it still holds the top frame's registers. */
	rec->pc = s->top_pc;
	rec->sp = s->top_sp;
	/* One helper call is cheaper to verify than two instructions per register. */
	bpf_probe_read_kernel(rec->general, sizeof(rec->general), s->frame.other);
}

/*
 * Sends a copy in place of the stack in s, unless the copies of this window have taken `limit`
 * bytes. Returns `id`, or 0 if no copy was sent.
 */
__noinline int send_copy(struct stack_scratch *s, __u32 limit, __u32 id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_counters *count = own_counters();
	__u32 depth, below, size, bytes, other, managed;
	struct copy_scratch *c = own_copy();
	void *ring = own_ring();
	struct rec_copy *rec;

	if (!s || !c || !count || !ring)
		return 0;
	below = below_sp(s->top_sp);
	if (!may_copy(c, s->like.time, limit)) {
		__sync_fetch_and_add(&count->skipped_copies, 1);
		return 0;
	}
	/* Older verifiers forget comparisons, hence a mask. */
	depth = s->kernel_depth & KERNEL_DEPTH_MAX;
	bpf_probe_read_kernel(c->words + COPY_HEADER_WORDS, depth * 8, s->words + HEADER_WORDS);
	bytes = copy_stack(c, depth, s->top_sp - below, stack_bytes(task, s->top_sp - below));
	rec = (struct rec_copy *)c->words;
	fill_regs(rec, s);
	other = copy_go(c, depth + bytes / 8);
	managed = copy_managed(c, s, depth + (bytes + other) / 8);
	size = sizeof(*rec) + depth * 8 + bytes + other + managed * sizeof(struct managed_frame);
	if (bytes > COPY_BYTES_MAX || other > COPY_OTHER_MAX || size > sizeof(c->words))
		return 0;
	rec->rec = s->like;
	rec->rec.kind = REC_COPY;
	rec->rec.flags = s->sample_flags & SAMPLE_LEAF_KERNEL ? COPY_LEAF_KERNEL : 0;
	if (config.interpreter_frames)
		rec->rec.flags |= COPY_KEEPS_INTERPRETER;
	if (!(s->pending & UNWIND_PENDING_TICKS))
		rec->rec.flags |= COPY_BY_TRACEPOINT;
	if (s->runtime)
		rec->rec.flags |= COPY_KNOWS_RUNTIME;
	rec->rec.weight = 0;
	rec->rec.words = size / 8;
	rec->stack_id = id;
	rec->kernel_depth = depth;
	rec->below_sp = below;
	rec->stack_size = bytes;
	rec->other_size = other;
	rec->managed_count = managed;
	if (!emit_output(count, ring, c->words, size, ring_flags(ring)))
		return 0;
	c->used += size;
	return id;
}

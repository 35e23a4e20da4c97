/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The current task's stack while it is captured and made into a stack record. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"
#include "bpf/record.h"
#include "bpf/unwind.h"

extern const volatile struct bpf_config config;

/*
 * Programs of perf events and tracepoints never interrupt each other on a CPU, so they build their
 * stacks in the same memory. An object whose programs a tick can interrupt (raw tracepoints,
 * tracing) defines HAS_OWN_STACK_SCRATCH first and gets separate memory. Where other tasks may run
 * in the middle of its programs (uprobes), each owns that memory until it ends.
 */
#ifdef HAS_OWN_STACK_SCRATCH
#define scratches own_scratches
#define copies own_copies
#endif

/*
 * Returns the base address of the task's thread-local variables. arm64's kernel reads it when the
 * task leaves the CPU: 0 until it first has since its exec.
 */
static __always_inline __u64 thread_pointer_of(struct task_struct *task)
{
#if IS_ARM64
	return BPF_CORE_READ(task, thread.uw.tp_value);
#else
	return BPF_CORE_READ(task, thread.fsbase);
#endif
}

/* User space walks the stacks of 32-bit programs, so the word size is constant here. */
#define walk_word(frame) 8
#define walk_read_word(frame, to, addr) bpf_probe_read_user(to, 8, (const void *)(addr))
#define walk_read_pair(frame, to, addr) bpf_probe_read_user(to, 16, (const void *)(addr))
#define walk_read_words(frame, to, addr, count) \
	bpf_probe_read_user(to, 8 * (count), (const void *)(addr))
#define walk_is_arm64(frame) IS_ARM64
#define walk_pc_mask(frame) (IS_ARM64 ? config.user_pc_mask : ~0ull)
/* Only Go's rules use it, and on arm64 they use a register instead. */
#define walk_thread_pointer(frame) (IS_ARM64 ? 0 : thread_pointer_of(bpf_get_current_task_btf()))
#include "bpf/walk.h"

#define DEPTH_MAX (KERNEL_DEPTH_MAX + USER_DEPTH_MAX)
#define HEADER_WORDS (sizeof(struct rec_stack) / 8)
#define CUTS_MAX ((USER_DEPTH_MAX + STACK_CUT - 1) / STACK_CUT)

/*
 * The rule of an address in the address space `serial`. Most frames of a sample also occur in the
 * preceding one.
 */
struct rule_cache {
	__u64 addr;
	__u32 serial;
	__u32 number;
};

#define RULE_CACHE_BITS 8

/* True if the walk has stopped at a runtime's code. */
enum resume {
	RESUME_NOWHERE,
	RESUME_HERE, /* at s->frame */
	RESUME_REFUSED, /* the runtime's program rejects the frame: walk it as other code */
};

/*
 * A stack record under construction: first the addresses in the order found, then the record,
 * packed in place. The leaf is not part of it, but the helper stores the leaf just before the
 * return addresses: it lands in the last word of the header, which is written afterwards.
 */
struct stack_scratch {
	__u64 words[HEADER_WORDS + (DEPTH_MAX + 1) / 2 + DEPTH_MAX];
	__u8 kinds[(DEPTH_MAX + 7) & ~7]; /* enum frame_kind of each address */
	union {
		__u64 sums[USER_DEPTH_MAX]; /* hash of the user frames up to this one */
		struct rec_run runs[DEPTH_MAX]; /* valid once the split points are known */
	};
	__u64 split_points[CUTS_MAX]; /* hash of each part, the outermost first */
	__u64 salt; /* part of all hashes, see stack_epoch() */
	/* Results of capture_stack(). */
	__u64 leaf;
	__u64 sum; /* hash of all user frames */
	__u32 kernel_depth, user_depth; /* excluding the leaf */
	__u32 end_depth; /* user frames up to the last in a new block, see config.h */
	__u32 depth_limit; /* set by the caller: maximum user frames; 0: USER_DEPTH_MAX */
	__u8 sample_flags, stack_flags;
	struct rec like; /* header shared by the sample and its stack record */
	/* Variables of loops: the verifier does not follow values in map memory. */
	__u64 kernel_sum; /* hash of all kernel frames */
	__u64 power; /* SUM_BASE to the number of frames */
	__u64 outer; /* value of the largest part already sent; 0: none */
	__u32 shared; /* number of its frames */
	__u32 is_new; /* larger parts were not sent */
	__u32 run_count;
	/* The task last sampled here, see task_cpu_time(). */
	__u32 last_pid;
	__u64 last_start, last_switches, last_time, last_cpu_time;
	/* State of the walker. */
	bpf_user_pt_regs_t regs;
	struct walk_frame frame;
	__u64 top_pc, top_sp; /* start of the walk */
	__u64 block; /* block of the last frame, see STACK_BLOCK_SHIFT */
	struct unwind_space space;
	__u32 runtime; /* enum runtime_kind of the process; 0: none, or its frames are not wanted */
	__u32 resumes; /* enum resume */
	__u32 managed_count; /* runtime frames that are not in the stack yet */
	__u32 pending; /* UNWIND_PENDING…: flags of mappings that this stack waits for */
	struct unwind_mapping mapping; /* the mapping found last */
	struct walk_rows rows; /* rows of a search, of mappings or in a table */
	struct unwind_rule rule;
	struct walk_caller caller;
	__u64 process[WALK_ERLANG_WORDS_READ]; /* see walk_erlang_stack() */
	/* A function called before a return address on the stack, and the start of its code. */
	__u64 callee;
	__u8 code[WALK_CALLEE_SIZE + 8];
	struct walk_way_back way_back; /* of the frame's code */
	struct rule_cache rule_cache[1 << RULE_CACHE_BITS];
};

PER_CPU(struct stack_scratch, scratches, own_stack)

/*
 * Hashes of frames are polynomials modulo 2^64 with one term per frame, so the hash of a part
 * follows from the sums at its two ends.
 */
#define SUM_BASE 0x9e3779b97f4a7c15ull

static __always_inline __u64 mix_bits(__u64 value)
{
	value *= 0xd6e8feb86659fd93ull;
	return value ^ value >> 32;
}

static __always_inline __u64 sum_frame(__u64 sum, __u64 addr, __u8 kind)
{
	return sum * SUM_BASE + mix_bits(addr ^ (__u64)kind << 56);
}

/* Returns the hash of the innermost `depth` user frames. */
static __always_inline __u64 sum_of(const struct stack_scratch *s, __u32 depth)
{
	__u32 last = depth - 1;

	/* Compare the value that is actually used, or the verifier does not learn its bounds. */
	barrier_var(last);
	return last < USER_DEPTH_MAX ? s->sums[last] : 0;
}

/*
 * Defines a callback of bpf_loop() that makes the call, with `loop` for its context, until that
 * returns 0. The verifier must see that only 0 and 1 are returned.
 */
#define LOOP_CALLBACK(name, type, call) \
	static long name(__u32 i, void *ctx) \
	{ \
		struct type *loop = ctx; \
		int more = call; \
\
		barrier_var(more); \
		return more ? 0 : 1; \
	}

/* The context of bpf_loop must lie on the BPF stack. */
struct loop {
	struct stack_scratch *s;
	__u32 found;
};

static long pack_frame(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;
	__u32 *lows = (__u32 *)(s->words + HEADER_WORDS);
	__u32 high, at = s->run_count, last = at - 1;
	__u8 kind;
	__u64 addr;

	if (i >= DEPTH_MAX || at >= DEPTH_MAX)
		return 1;
	addr = s->words[HEADER_WORDS + i];
	lows[i] = (__u32)addr;
	high = addr >> 32;
	kind = s->kinds[i];
	barrier_var(last); /* as in sum_of() */
	if (last < DEPTH_MAX && s->runs[last].high == high && s->runs[last].kind == kind) {
		s->runs[last].count++;
		return 0;
	}
	s->runs[at].high = high;
	s->runs[at].count = 1;
	s->runs[at].kind = kind;
	s->run_count = at + 1;
	return 0;
}

/*
 * Packs the stack without its `shared` outermost frames into a record, except the ids. Returns its
 * size in bytes, 0 if the verifier cannot prove that it fits.
 */
static __always_inline __u32 pack_stack(struct stack_scratch *s)
{
	struct rec_stack *rec = (struct rec_stack *)s->words;
	__u32 user_depth = s->user_depth - s->shared, depth = s->kernel_depth + user_depth;
	__u32 low_words = (depth + 1) / 2, run_count, size;
	struct loop loop = {.s = s};

	s->run_count = 0;
	bpf_loop(depth, pack_frame, &loop, 0);
	run_count = s->run_count;
	if (low_words > (DEPTH_MAX + 1) / 2 || run_count > DEPTH_MAX)
		return 0;
	bpf_probe_read_kernel(s->words + HEADER_WORDS + low_words, run_count * 8, s->runs);
	size = (HEADER_WORDS + low_words + run_count) * 8;
	rec->rec = s->like;
	rec->rec.kind = REC_STACK;
	rec->rec.flags = s->stack_flags;
	rec->rec.weight = 0;
	rec->rec.words = size / 8;
	rec->run_count = run_count;
	rec->kernel_depth = s->kernel_depth;
	rec->user_depth = user_depth;
	return size;
}

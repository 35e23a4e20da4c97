/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of processes with a runtime. The walker notes where each native frame lies on the stack.
 * The program that captured the stack then tail-calls the runtime's program (bpf/runtimes), which
 * adds the runtime's frames, sends the sample and never returns. If the process has several
 * runtimes, each passes the sample to the next, and the last one sends it. The runtimes' programs
 * are separate objects, loaded when the first such process is seen; until then, and whenever the
 * tail call fails, the native stack is sent.
 */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"
#include "bpf/live_record.h"
#include "bpf/record.h"
#include "bpf/runtime_layout.h"

/*
 * Hands a sample over to the runtime's program. One per CPU, and as small as possible: it is
 * allocated even if no process has a runtime.
 */
struct runtime_scratch {
	union {
		struct rec_sample sample;
		struct rec_event event;
	} pending;
	__u32 pending_size; /* bytes of `pending`; for a marker: 0 if its stack is not sent */
	__u32 copy_bytes; /* limit for place_stack() */
	__u32 program; /* enum timed_program: the caller; for a marker: its end */
	/*
	 * Start of each user frame after the leaf on the stack: its sp, the CFA of the next inner
	 * frame. Bit 0: it was reached by frame pointer.
	 */
	__u64 sps[USER_DEPTH_MAX];
};

struct runtime_scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct runtime_scratch);
};

/* Programs by enum runtime_kind: one map for each type of program. */
struct runtime_programs {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, RUNTIME_KIND_COUNT);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
};

struct runtime_layouts {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RUNTIME_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct runtime_layout);
};

#define RUNTIME_COUNT_ROWS (RUNTIME_COUNTS * RUNTIME_COUNT_KINDS)

/*
 * A row for each kind of runtime and each stack memory: a tick never interrupts an update of its
 * own row.
 */
struct runtime_counts {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RUNTIME_COUNT_ROWS);
	__type(key, __u32);
	__type(value, struct runtime_counters);
};

extern struct runtime_scratches runtime_scratches SEC(".maps");
extern struct runtime_programs runtime_programs SEC(".maps");
extern struct runtime_programs runtime_tracepoints SEC(".maps");
extern struct runtime_layouts runtime_layouts SEC(".maps");
extern struct runtime_counts runtime_counts SEC(".maps");

static __always_inline struct runtime_scratch *own_runtime_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&runtime_scratches, &zero);
}

static __always_inline struct runtime_counters *own_runtime_counters(__u32 kind)
{
#ifdef RUNTIME_COUNTS_ROW
	__u32 row = RUNTIME_COUNTS_ROW;
#elif defined(HAS_OWN_RUNTIME_SCRATCH)
	__u32 row = 1;
#else
	__u32 row = 0;
#endif

	row = row * RUNTIME_COUNT_KINDS + kind;
	return bpf_map_lookup_elem(&runtime_counts, &row);
}

/*
 * Tail-calls the program of the process's runtime, if it has one, to send `size` bytes of `record`,
 * which begins with a sample. Returns only if that fails. Only for main programs: a tail call
 * replaces the function that makes it. `from` is the main program, as an enum timed_program; the
 * runtime's program ends its run.
 */
#define go_to_runtime(ctx, programs, from, s, record, size, copies) \
	({ \
		struct runtime_scratch *m_ = (s)->runtime ? own_runtime_scratch() : NULL; \
\
		if (m_) { \
			__builtin_memcpy(&m_->pending, record, size); \
			m_->pending_size = size; \
			m_->copy_bytes = copies; \
			m_->program = from; \
			bpf_tail_call(ctx, programs, (s)->runtime); \
			count_runtime_missed((s)->runtime); \
		} \
	})

/* Counts a stack whose runtime has no program. */
static __always_inline void count_runtime_missed(__u32 kind)
{
	struct runtime_counters *count = own_runtime_counters(kind);

	if (count)
		count->missed++;
}

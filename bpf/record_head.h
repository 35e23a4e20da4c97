/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The beginning of every record, and samples, which are embedded in other records. See record.h. */
#pragma once

#include <linux/types.h>

enum rec_kind {
	REC_NONE,
#define RECORD(kind, ...) REC_##kind,
#include "bpf/record.def"
#undef RECORD
	REC_KIND_COUNT,
};

struct rec {
	__u16 words; /* size of the whole record in units of 8 bytes */
	__u8 kind; /* enum rec_kind */
	__u8 flags; /* meaning depends on the kind */
	__u16 cpu; /* CPU that wrote it */
	__u16 weight; /* samples: number of timer ticks represented; otherwise 0 */
	__u64 time;
	__u32 pid, tid;
};

#define REC_MAX_WORDS 0xffff

/* rec.flags of REC_SAMPLE */
enum {
	SAMPLE_LEAF_KERNEL = 1 << 0, /* leaf is a kernel address */
	SAMPLE_NO_STACK = 1 << 1, /* no frames besides the leaf; stack_id is unused */
	SAMPLE_KERNEL_THREAD = 1 << 2, /* the task has no user side */
	SAMPLE_EXITING = 1 << 3, /* the task's address space is being torn down or replaced */
	SAMPLE_NO_LEAF = 1 << 4, /* the innermost pc is unknown as well; leaf is 0 */
	SAMPLE_LEAF_MANAGED = 1 << 5, /* leaf is a position, as for FRAME_MANAGED */
};

struct rec_sample {
	struct rec rec;
	__u64 leaf; /* innermost pc, exactly as interrupted */
	__u32 stack_id; /* of the REC_STACK with the leaf's callers */
	__u32 cpu_time; /* the thread's CPU time so far: low 32 bits of (ns >> 4) */
};

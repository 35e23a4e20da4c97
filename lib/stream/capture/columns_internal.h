/* SPDX-License-Identifier: MIT */
/* The coding state of a block's records so far, and the coding of one record in the streams. */
#pragma once

#include "bpf/record.h"
#include "lib/base/vec.h"
#include "lib/stream/capture/columns.h"

/* Ways to encode a record. */
enum shape {
	AS_IT_IS,
	SAMPLE, /* a tick of the clock */
	SAMPLE_OF_STACK, /* sample of the preceding stack record, with the same head and id */
	STACK_OF_SAMPLE, /* stack followed by a SAMPLE_OF_STACK */
	STACK, /* any other stack */
	LIKE_SAMPLE, /* event whose record begins with a sample */
	/* Since version 4: */
	WAIT,
	WAIT_OF_STACK, /* wait of the preceding stack record, with the same time, CPU, task and
			  stack */
	RESUMED, /* end of a wait, probably the thread's latest */
	PLAIN, /* anything else */
	SHAPE_COUNT,
};

enum stream {
	SHAPES,
	RAW, /* unencoded records, and ends of records */
	KINDS,
	FLAGS,
	WEIGHTS,
	CPUS,
	TASKS, /* with NEW_TASKS, the streams of column_value() */
	NEW_TASKS,
	TICKS, /* clock intervals since the last tick of the CPU, less 1 */
	TIMES,
	OTHER_TIMES,
	CPU_TIMES,
	LEAVES,
	NEW_LEAVES,
	STACKS,
	NEW_STACKS,
	STACK_IDS,
	DEPTHS,
	LOWS,
	NEW_LOWS,
	HIGHS,
	NEW_HIGHS,
	RUNS,
	CLOCK,
	/* Since version 4: */
	WAIT_STARTS,
	CHANCES,
	NEW_CHANCES,
	REASONS,
	NEW_REASONS,
	QUEUED,
	RESUMED_CHANGES, /* differences between end and beginning of a wait */
	PAGES, /* leaves, in this stream and the next three: see column_address() */
	NEW_PAGES,
	HIGH_OFFSETS,
	LOW_OFFSETS,
	STREAM_COUNT,
};

#define STREAMS_OF_VERSION_3 (CLOCK + 1)

_Static_assert(STREAM_COUNT == COLUMN_STREAMS, "each has a name");

/* CPUs with higher numbers share a prediction. */
#define CPUS_KNOWN 1024
#define DEFAULT_INTERVAL 1000000
/* Number of deltas from which the interval is derived. */
#define DELTAS_MAX 63

struct known_cpu {
	uint64_t next_tick; /* 0: no tick yet */
	uint32_t task; /* row of the last task, plus 1; 0: none yet */
};

struct known_task {
	uint64_t time;
	uint32_t cpu_time;
	uint32_t chance; /* chance of the task's last wait */
	uint64_t start; /* start of the task's last wait */
};

struct columns {
	uint32_t version; /* capture version */
	struct column_streams streams;
	struct column_values tasks, leaves, stacks, lows, highs, pages, chances, reasons;
	VEC(struct known_task) known_tasks; /* by row of `tasks` */
	struct known_cpu cpus[CPUS_KNOWN];
	uint64_t interval;
	uint64_t time; /* time of the last record other than a tick */
	uint32_t stack_id; /* id of the last stack */
	struct rec head; /* head of the last stack */
};

/* SPDX-License-Identifier: MIT */
/* The coding state of a block's records so far, and the coding of one record in the streams. */
#ifndef PROF_LIB_STREAM_CAPTURE_COLUMNS_INTERNAL_H
#define PROF_LIB_STREAM_CAPTURE_COLUMNS_INTERNAL_H

#include "bpf/record.h"
#include "lib/base/vec.h"
#include "lib/stream/capture/columns.h"

/* Ways to encode a record. */
enum shape {
	AS_IT_IS,
	SAMPLE, /* a tick of the clock */
	SAMPLE_OF_STACK, /* that of the stack before, whose head and id it shares */
	STACK_OF_SAMPLE, /* a stack, followed by its SAMPLE_OF_STACK */
	STACK, /* another one */
	LIKE_SAMPLE, /* begins with a sample: an event */
	/* Since version 4: */
	WAIT,
	WAIT_OF_STACK, /* that of the stack before, which shares its time, CPU, task and stack */
	RESUMED, /* the end of a wait, probably of the thread's last one */
	PLAIN, /* anything else */
	SHAPE_COUNT,
};

enum stream {
	SHAPES,
	RAW, /* records as they are, and ends of records */
	KINDS,
	FLAGS,
	WEIGHTS,
	CPUS,
	TASKS, /* and the next one, as all of column_value() */
	NEW_TASKS,
	TICKS, /* intervals of the clock since the CPU's last one, less 1 */
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
	RESUMED_CHANGES, /* differences between the end of a wait and its beginning */
	PAGES, /* of leaves, and the next three: see column_address() */
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
	uint64_t next_tick; /* 0: none yet */
	uint32_t task; /* row of the last one, and 1; 0: none yet */
};

struct known_task {
	uint64_t time;
	uint32_t cpu_time;
	uint32_t chance; /* of its last wait */
	uint64_t start; /* likewise */
};

struct columns {
	uint32_t version; /* of the capture */
	struct column_streams streams;
	struct column_values tasks, leaves, stacks, lows, highs, pages, chances, reasons;
	VEC(struct known_task) known_tasks; /* by row of tasks */
	struct known_cpu cpus[CPUS_KNOWN];
	uint64_t interval;
	uint64_t time; /* of the last record that is not a tick */
	uint32_t stack_id; /* of the last stack */
	struct rec head; /* likewise */
};

/* The fixed part of a stack, with its size; it comes before the rest. */
void columns_code_stack_head(struct columns *c, struct rec_stack *rec, enum shape shape);
/*
 * Codes a record in place, after its shape and, for shapes of variable size, its size. Encoding
 * does not change it.
 */
void columns_code(struct columns *c, struct rec *rec, enum shape shape);

#endif

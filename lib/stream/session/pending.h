/* SPDX-License-Identifier: MIT */
/*
 * Samples, and stack records that continue another stack, waiting for a stack record that may still
 * be in another CPU's ring. Their number and memory are bounded. A sample whose stack never arrives
 * is lost.
 */
#ifndef PROF_LIB_STREAM_SESSION_PENDING_H
#define PROF_LIB_STREAM_SESSION_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/stream/process/mapping.h"
#include "lib/model/tables/ids.h"

/* 24 MB; covers a stall of some seconds on a large machine. */
#define PENDING_SAMPLES_MAX (1u << 18)
/* Bytes of mappings kept for waiting samples. */
#define PENDING_MAPPINGS_MAX ((size_t)64 << 20)
/* Few records wait, and briefly: each ring is in order. */
#define PENDING_STACKS_MAX 4096

#define NO_VALUE UINT32_MAX

/* A sample with all state that must be remembered from its own time. */
struct pending_sample {
	struct rec_sample rec;
	uint32_t event; /* 0: the clock; else a sample of that event, with weight `period` */
	uint64_t period;
	/*
	 * For a marker's stack, which is no sample: number of the value it becomes, plus one;
	 * NO_VALUE: the marker was left out.
	 */
	uint32_t marker_value;
	uint32_t wait; /* for the stack of a wait, likewise: row of struct waits, plus one */
	uint32_t
		alloc; /* for that of an allocation, likewise: row of struct alloc_feed, plus one */
	thread_id thread;
	uint32_t cpu_time; /* as in struct cpu_reading */
	struct mapping_table *mappings; /* mappings of its process, held while it waits */
};

struct waiting_sample {
	struct pending_sample sample;
	uint32_t next; /* next with the same stack_id, or next free row; UINT32_MAX: none */
	uint32_t last; /* in the first row of a chain: its last row */
	bool is_taken;
};

struct pending {
	VEC(struct waiting_sample) rows;
	struct index by_stack_id; /* first row of each chain */
	uint32_t free; /* first free row plus one; 0: none */
	uint32_t count;
	size_t mappings_size; /* bytes held by all waiting samples */
	VEC(struct rec_stack *) stacks; /* copied records */
};

void pending_release(struct pending *p);
/* False if all room is taken; then nothing is kept. */
bool pending_add(struct pending *p, const struct pending_sample *sample);
/*
 * Takes out the oldest sample that waits for this stack; false if none. The caller drops
 * sample->mappings.
 */
bool pending_take(struct pending *p, uint32_t wire_id, struct pending_sample *sample);
/*
 * Takes out any sample from before that time; *cursor begins as 0. The caller drops
 * sample->mappings.
 */
bool pending_take_next(struct pending *p, uint64_t before_ns, uint32_t *cursor,
		       struct pending_sample *sample);
/* Gives stacks of markers their new values. map: of each number plus one, as in marker_value. */
void pending_move_values(struct pending *p, const uint32_t *map);

/* Drops the record if all room is taken: its samples will then have no stack. */
void pending_add_stack(struct pending *p, const struct rec_stack *rec);
/* Takes out a record that continues this stack, NULL if none. The caller frees. */
struct rec_stack *pending_take_stack(struct pending *p, uint32_t prefix_id);

#endif

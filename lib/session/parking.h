/* SPDX-License-Identifier: MIT */
/*
 * Samples that wait for their stack: it may still be in the ring of another CPU. Their number is
 * bounded, and so is what is kept for them; a stack that never comes is a lost sample.
 */
#ifndef PROF_LIB_SESSION_PARKING_H
#define PROF_LIB_SESSION_PARKING_H

#include <stdbool.h>

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/profile/ids.h"
#include "lib/process/mapping.h"

/* 24 MB; what a stall of some seconds leaves in the rings of a large machine. */
#define PARKING_MAX (1u << 18)
/* Bytes of the mappings of their time. */
#define PARKING_MAPPINGS_MAX ((size_t)64 << 20)

/* A sample with everything that has to be remembered from its own time. */
struct pending_sample {
	struct rec_sample rec;
	uint32_t event; /* 0: the clock; else it stands for `period` of that event */
	uint64_t period;
	thread_id thread;
	uint32_t cpu_delta;
	struct mapping_table *mappings; /* its process's; held while it is parked */
};

struct parked {
	struct pending_sample sample;
	uint32_t next; /* of the same stack_id, or of the free ones; UINT32_MAX: none */
	uint32_t last; /* in the first row of a chain: its last one */
	bool is_taken;
};

struct parking {
	VEC(struct parked) rows;
	struct index by_stack_id; /* the first of each chain */
	uint32_t free; /* plus one; 0: none */
	uint32_t count;
	size_t mappings_size; /* of all that wait */
};

void parking_release(struct parking *p);
/* False, and nothing is kept, where all room is taken. */
bool parking_add(struct parking *p, const struct pending_sample *sample);
/*
 * Takes out the oldest sample that waits for this stack; false: there is none. The caller drops
 * sample->mappings.
 */
bool parking_take(struct parking *p, uint32_t wire_id, struct pending_sample *sample);
/* Likewise any sample, from *cursor on, which begins as 0. */
bool parking_take_next(struct parking *p, uint32_t *cursor, struct pending_sample *sample);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What came before the stack record it needs, which may still be in the ring of another CPU:
 * samples, and stack records that go on with another one. Their number is bounded, and so is what
 * is kept for them. A sample whose stack never comes is lost.
 */
#ifndef PROF_LIB_SESSION_PENDING_H
#define PROF_LIB_SESSION_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/process/mapping.h"
#include "lib/profile/ids.h"

/* 24 MB; what a stall of some seconds leaves in the rings of a large machine. */
#define PENDING_SAMPLES_MAX (1u << 18)
/* Bytes of the mappings of their time. */
#define PENDING_MAPPINGS_MAX ((size_t)64 << 20)
/* Few and for a moment: ring by ring they are in order. */
#define PENDING_STACKS_MAX 4096

/* A sample with everything that has to be remembered from its own time. */
struct pending_sample {
	struct rec_sample rec;
	uint32_t event; /* 0: the clock; else it stands for `period` of that event */
	uint64_t period;
	/* Of a marker's stack, which is no sample: the value that it becomes, plus one. */
	uint32_t marker_value;
	thread_id thread;
	uint32_t cpu_delta;
	struct mapping_table *mappings; /* its process's; held while it waits */
};

struct waiting_sample {
	struct pending_sample sample;
	uint32_t next; /* of the same stack_id, or of the free ones; UINT32_MAX: none */
	uint32_t last; /* in the first row of a chain: its last one */
	bool is_taken;
};

struct pending {
	VEC(struct waiting_sample) rows;
	struct index by_stack_id; /* the first of each chain */
	uint32_t free; /* plus one; 0: none */
	uint32_t count;
	size_t mappings_size; /* of all that wait */
	VEC(struct rec_stack *) stacks; /* copies */
};

void pending_release(struct pending *p);
/* False, and nothing is kept, where all room is taken. */
bool pending_add(struct pending *p, const struct pending_sample *sample);
/*
 * Takes out the oldest sample that waits for this stack; false: there is none. The caller drops
 * sample->mappings.
 */
bool pending_take(struct pending *p, uint32_t wire_id, struct pending_sample *sample);
/* Likewise any sample, from *cursor on, which begins as 0. */
bool pending_take_next(struct pending *p, uint32_t *cursor, struct pending_sample *sample);

/* Where all room is taken the record is dropped: its samples will have no stack. */
void pending_add_stack(struct pending *p, const struct rec_stack *rec);
/* A record that goes on with that stack, the caller's to free; NULL: there is none. */
struct rec_stack *pending_take_stack(struct pending *p, uint32_t prefix_id);

#endif

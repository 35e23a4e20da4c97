/* SPDX-License-Identifier: MIT */
/*
 * Collects samples of all kinds until their stack arrives, then converts them to rows of threads,
 * values of markers, or waits.
 */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/ids.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/session/alloc_feed.h"
#include "lib/stream/session/losses.h"
#include "lib/stream/session/resolve.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/waits/waits.h"

/*
 * Samples, and stack records that continue another stack, waiting for a stack record that may still
 * be in another CPU's ring. Their number and memory are bounded. A sample whose stack never arrives
 * is lost.
 */

/* 24 MB; covers a stall of some seconds on a large machine. */
#define PENDING_SAMPLES_MAX (1u << 18)
/* Bytes of mappings kept for waiting samples. */
#define PENDING_MAPPINGS_MAX ((size_t)64 << 20)
/* Few stack records wait, and briefly, because each ring is in order. */
#define PENDING_STACKS_MAX 4096

#define NO_VALUE UINT32_MAX

/* A sample with all state that depends on its time. */
struct pending_sample {
	struct rec_sample rec;
	uint32_t event; /* 0: the clock; otherwise a sample of that event with weight `period` */
	uint64_t period;
	/*
	 * For the stack of a marker, which is not a sample: index of the value that it becomes,
	 * plus one; NO_VALUE: the marker was left out.
	 */
	uint32_t marker_value;
	uint32_t wait; /* for the stack of a wait: row of struct waits, plus one */
	uint32_t alloc; /* for the stack of an allocation: row of struct alloc_feed, plus one */
	thread_id thread;
	uint32_t cpu_time; /* as in struct cpu_reading */
	struct mapping_table *mappings; /* mappings of the process, held while the sample waits */
};

struct waiting_sample {
	struct pending_sample sample;
	uint32_t next; /* next row with the same stack_id, or next free row; UINT32_MAX: none */
	uint32_t last; /* last row of a chain; set in the first row */
	bool is_taken;
};

struct pending {
	VEC(struct waiting_sample) rows;
	struct index by_stack_id; /* first row of each chain */
	uint32_t free; /* first free row plus one; 0: none */
	uint32_t count;
	size_t mappings_size; /* bytes held by all waiting samples */
	VEC(struct rec_stack *) stacks; /* copies of the records */
};

void pending_release(struct pending *p);
/* Returns false, without keeping the sample, if there is no more room. */
bool pending_add(struct pending *p, const struct pending_sample *sample);
/*
 * Removes the oldest sample that waits for this stack; false if there is none. The caller drops
 * sample->mappings.
 */
bool pending_take(struct pending *p, uint32_t wire_id, struct pending_sample *sample);
/*
 * Renumbers the values of marker stacks. map: new number by old one plus one, as in marker_value.
 */
void pending_move_values(struct pending *p, const uint32_t *map);

/*
 * Classifies each timer tick: a tick with a sample is in exactly one class of profile_stats, any
 * other in profile_stats.lost.
 */

struct tick_stats_entry {
	uint8_t sample_flags; /* flags of the REC_SAMPLE */
	uint8_t stack_flags; /* flags of the REC_STACK; 0: no stack record */
	bool is_cut; /* the profile lacks outer frames of the record */
	bool is_32bit; /* the program is 32-bit */
	bool has_unknown_kind; /* frames of unknown kinds were left out */
	uint32_t ticks;
};

/* Classifies the stack of a tick, or of a wait. */
void tick_stats_count(struct profile_stats *stats, const struct tick_stats_entry *entry);

struct sample_feed {
	struct profile *profile;
	struct tasks *tasks;
	struct losses *losses;
	uint32_t lost_cause; /* enum lost_cause for samples whose stack never arrives */
	struct resolver resolver;
	struct pending pending;
	struct waits waits;
	struct alloc_feed allocs;
};

void sample_feed_init(struct sample_feed *f, struct tasks *tasks, struct losses *losses);
/* Call before tasks_release(). */
void sample_feed_release(struct sample_feed *f);

/* Takes a REC_SAMPLE, REC_STACK, REC_EVENT, REC_WAIT, REC_RUN or REC_ALLOC. */
void sample_feed_record(struct sample_feed *f, const struct rec *rec);
/* `thread`: the thread that ended. */
void sample_feed_exit(struct sample_feed *f, thread_id thread, const struct rec_exit *rec);
/* A marker_stack_fn of marker_feed.h; ctx: struct sample_feed. */
void sample_feed_marker_stack(void *ctx, uint32_t value, const struct rec_marker_stack *stack);
/* Drops stacks of old epochs, see resolver_forget(), and earlier samples without a stack. */
void sample_feed_forget(struct sample_feed *f, uint64_t before_ns);
/* Mark stacks that are not yet in rows, see stacks_mark(), and replace them by the new ids. */
void sample_feed_mark_stacks(const struct sample_feed *f, bool *used);
void sample_feed_move_stacks(struct sample_feed *f, const stack_id *map);
/* Counts samples that still wait for their stack as lost. */
void sample_feed_finish(struct sample_feed *f, uint64_t end_ns);

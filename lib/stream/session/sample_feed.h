/* SPDX-License-Identifier: MIT */
/*
 * Collects samples of all kinds until their stack arrives, then converts them to rows of threads,
 * values of markers, or waits.
 */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/waits/waits.h"

/* Losses and throttling during the recording, by CPU and time. */

struct loss_series;

/* A loss that becomes a marker. */
struct loss {
	uint64_t start, end;
	uint64_t count;
	string_id reason;
	uint16_t cpu;
	uint8_t kind; /* enum marker_id */
};

struct losses {
	struct profile *profile;
	VEC(struct loss) rows;
	VEC(struct loss_series) series; /* latest row of each reason and CPU */
};

void losses_release(struct losses *l);
/* `time` is the record's, on the profile's time line. */
void losses_add(struct losses *l, const struct rec_lost *rec, uint64_t time);
void losses_throttled(struct losses *l, const struct rec_throttled *rec, uint64_t time);
/*
 * Adds losses, which belong to no thread, to the first thread of the recording: nearly always the
 * main thread of the recorded command.
 */
void losses_finish(struct losses *l);

/*
 * Joins allocations with their frees. Front-ends can hold some 100,000 allocations. Beyond that,
 * the sampling rate is halved repeatedly and weights are doubled, so that sums stay the same on
 * average.
 */

/* A file has up to twice as many rows, including frees. */
#define FED_ALLOCS_MAX 250000u

struct fed_alloc {
	process_id process; /* NO_PROCESS: free row */
	uint64_t address;
	struct allocation allocation;
};

/*
 * A free may arrive before its allocation, or after the next allocation at the same address: CPUs'
 * clocks differ a little, and a preempted thread that is writing to a ring delays that CPU's
 * records. Therefore the last unmatched frees and blocks are kept.
 */
struct loose_end {
	process_id process; /* NO_PROCESS: already matched */
	uint16_t cpu;
	/* A free of an unknown block; otherwise a block that ended without a free. */
	bool is_free;
	uint64_t address, time;
};

#define LOOSE_ENDS_MAX 256u

struct alloc_feed {
	struct tasks *tasks;
	VEC(struct fed_alloc) rows;
	struct index by_address; /* rows of held blocks */
	VEC(uint32_t) free_rows;
	VEC(uint32_t) held; /* number of rows by process_id; missing entries are 0 */
	uint32_t halvings; /* only one in 2^halvings new allocations is taken */
	struct loose_end loose_ends[LOOSE_ENDS_MAX]; /* ring buffer */
	uint32_t loose_count; /* number of loose ends so far */
	uint32_t max; /* maximum number of rows; FED_ALLOCS_MAX except in tests */
	uint64_t random; /* state of the random number generator */
	bool held_only; /* leave out blocks that were freed */
};

void alloc_feed_init(struct alloc_feed *f, struct tasks *tasks);
void alloc_feed_release(struct alloc_feed *f);

/* Returns the row to pass to alloc_feed_set_stack(); NO_ALLOC if the allocation is left out. */
#define NO_ALLOC UINT32_MAX
uint32_t alloc_feed_add(struct alloc_feed *f, thread_id thread, const struct rec_alloc *rec);
/* Sets the stack of a row of that time; NO_STACK if it was lost. */
void alloc_feed_set_stack(struct alloc_feed *f, uint32_t row, uint64_t time, stack_id stack);
void alloc_feed_free(struct alloc_feed *f, const struct rec_free *rec);
/* Handles an exec of the process, which frees all its memory. */
void alloc_feed_exec(struct alloc_feed *f, process_id process, uint64_t time);
/* Mark the stacks of allocations, see stacks_mark(), and replace them by the new ids. */
void alloc_feed_mark_stacks(const struct alloc_feed *f, bool *used);
void alloc_feed_move_stacks(struct alloc_feed *f, const stack_id *map);
/* Adds the allocations to main threads, and a counter of allocated memory to each process. */
void alloc_feed_finish(struct alloc_feed *f);

/*
 * Resolves addresses to frames and stacks of the profile, with the mappings of a process and the
 * kernel.
 */

/*
 * Stacks of the stream as received: addresses, which need a process to be resolved. Each distinct
 * stack is kept once, however often and under whichever ids it arrives.
 */

typedef uint32_t raw_stack_id; /* differs from the wire's stack_id, which may be reused */

#define NO_RAW_STACK UINT32_MAX

struct raw_stack {
	uint64_t first_word; /* first word of the body, as in the record */
	raw_stack_id outer; /* NO_RAW_STACK: no further frames */
	uint16_t prefix_skip; /* innermost frames of `outer` to skip */
	uint16_t run_count;
	uint16_t kernel_depth, user_depth; /* frames in the body */
	uint16_t links; /* number of continuations */
	uint8_t flags; /* flags of the REC_STACK */
	uint32_t depth; /* total number of frames */
};

/* Counts the frames in user space, including those shared with other stacks. */
static inline uint32_t raw_stack_user_depth(const struct raw_stack *stack)
{
	return stack->depth - stack->kernel_depth;
}

struct stack_cache_entry {
	uint32_t stack_id; /* stack_id of the wire */
	raw_stack_id stack;
	bool is_recent; /* sent after the last raw_stacks_forget() */
	bool is_unasked; /* not looked up since it arrived */
};

struct raw_stacks {
	VEC(uint64_t) words;
	VEC(struct raw_stack) rows;
	struct index by_content;
	VEC(struct stack_cache_entry) sent;
	struct index by_stack_id;
};

void raw_stacks_release(struct raw_stacks *s);
/*
 * Binds the record's stack_id to this stack from now on. Returns NO_RAW_STACK and changes nothing
 * if the record continues a stack that has not arrived yet.
 */
raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec);
/* Returns the current meaning of a wire stack_id; NO_RAW_STACK if it never arrived. */
raw_stack_id raw_stacks_find(struct raw_stacks *s, uint32_t wire_id);
/* Stores all stack->depth frames of a stack, innermost first. */
void raw_stack_unpack(const struct raw_stacks *s, const struct raw_stack *stack, uint64_t *addrs,
		      uint8_t *kinds);

struct resolved; /* cache line */
struct resolved_leaf;
struct child;
struct last_frame;
struct located_frame;

/*
 * The user frames of the last resolved stack, outermost first: the next stack with the same
 * mappings mostly shares many of them.
 */
struct last_stack {
	uint64_t stamp; /* stamp of the mappings used */
	VEC(struct last_frame) frames;
};

#define LAST_STACKS 16

struct resolver {
	struct profile *profile;
	struct mapping_table *kernel;
	struct raw_stacks raw;
	struct resolved *cache;
	struct resolved_leaf *leaves; /* leaf cache, allocated right after `cache` */
	uint64_t kernel_stamp; /* stamp of the kernel mappings that both caches used */
	uint32_t lines, misses; /* lines of each cache; misses since their last resize */
	struct child *children; /* sets, by stack id plus 1; set 0 is of NO_STACK */
	struct last_stack last[LAST_STACKS]; /* by mapping stamp */
	/* Frames of the stack being resolved. */
	VEC(uint64_t) addrs;
	VEC(uint8_t) kinds;
	VEC(struct located_frame) located;
};

void resolver_init(struct resolver *r, struct profile *profile);
void resolver_release(struct resolver *r);

/* Extent of a stack in the profile. */
struct stack_extent {
	uint32_t user_depth; /* user frames up to the end of the stack, including omitted frames */
	uint32_t unknown_depth; /* frames omitted because of their unknown kind */
	bool has_user_frame;
	bool has_guess; /* one of the frames is a FRAME_GUESS */
};

/*
 * Resolves the stack below the leaf. `mappings` may be older than the process's current ones;
 * anonymous memory is attributed to `process`.
 */
stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, struct stack_extent *extent);
/* Adds the interrupted frame to `base`; `kind` is an enum frame_kind. */
stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, uint8_t kind,
		       struct process *process, const struct mapping_table *mappings);
/* Drops raw stacks and their cached results, see raw_stacks_forget(). */
void resolver_forget(struct resolver *r);
/* Clears cached results after stack ids have changed. */
void resolver_clear(struct resolver *r);
/* True if these are the mappings of a 32-bit program. */
bool resolver_is_32bit(const struct resolver *r, const struct mapping_table *mappings);

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

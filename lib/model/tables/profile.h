/* SPDX-License-Identifier: MIT */
/*
 * The result of a recording: one table per file, nothing else. Rows in memory; columns exist only
 * in the format. All times are CLOCK_MONOTONIC ns until a format subtracts meta.start_ns.
 */
#ifndef PROF_LIB_MODEL_TABLES_PROFILE_H
#define PROF_LIB_MODEL_TABLES_PROFILE_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "lib/model/facts/facts.h"
#include "lib/model/tables/counters.h"
#include "lib/model/tables/event_counts.h"
#include "lib/model/tables/frames.h"
#include "lib/model/tables/funcs.h"
#include "lib/model/tables/modules.h"
#include "lib/model/tables/overhead.h"
#include "lib/model/tables/profile_meta.h"
#include "lib/model/tables/stacks.h"
#include "lib/model/tables/strings.h"
#include "lib/model/tables/threads.h"

#define PROFILE_LOST_CAUSES 8

/* A frame category as a file defines it. Strings are owned. */
struct profile_category {
	char *name, *color; /* one of the front-end's colours */
	VEC(char *) subcategories;
};

/* Ends of the user side of a stack. */
enum stack_class {
	STACK_CLASS_WHOLE, /* at the outermost frame */
	STACK_CLASS_TRUNCATED, /* at a depth limit */
	STACK_CLASS_BROKEN, /* at a frame whose caller was not found */
	STACK_CLASS_UNKNOWN, /* unknown where */
	STACK_CLASS_KERNEL_ONLY, /* no user side: a kernel thread */
	STACK_CLASS_EXITING, /* no user side any more */
	STACK_CLASS_COUNT,
};

/* Counts waits, and nothing of ticks. */
struct wait_stats {
	uint64_t sampled; /* records with a stack; each is in one of the classes, or lost */
	uint64_t classes[STACK_CLASS_COUNT];
	uint64_t lost_stacks; /* sampled ones whose stack never came */
	uint64_t lost; /* sampled ones without a record */
	uint64_t unended; /* nobody knows how long */
	double count; /* estimate of all that were sampled or could have been */
	uint32_t chance_min; /* lowest chance of being sampled, in 2^-32; 0: none by chance */
	double estimated_ns, fitted_ns; /* time waited as sampled, and as in the profile */
};

/* Counts allocations, and nothing of ticks. */
struct alloc_stats {
	uint64_t sampled; /* records */
	uint64_t thinned; /* left out because there were too many: others stand for them */
	uint64_t matched, unmatched; /* frees of sampled blocks, and of others */
	uint64_t bytes, held_bytes; /* estimates: of all, and of those held at the end */
};

struct profile_stats {
	uint64_t cpu_samples; /* timer ticks that became samples */
	uint64_t user_stacks; /* samples with at least one user frame */
	/* Each of these ticks is in exactly one class, by the end of the user side of its stack. */
	uint64_t whole; /* at the outermost frame */
	uint64_t truncated; /* at a depth limit */
	uint64_t broken; /* at a frame whose caller was not found */
	uint64_t unknown; /* unknown where */
	uint64_t kernel_only; /* no user side: a kernel thread */
	uint64_t exiting; /* no user side any more */
	uint64_t guessed; /* of all these: with a guessed frame */
	uint64_t finished_later; /* likewise: finished in user space from a copy */
	uint64_t unknown_kinds; /* likewise: without the frames of unknown kinds */
	uint64_t compat; /* likewise: of 32-bit programs */
	uint64_t compat_unknown; /* of those, in `unknown` */
	uint64_t lost[PROFILE_LOST_CAUSES]; /* by enum lost_cause */
	uint64_t wanted_threads; /* records and samples of threads that pass the filters */
	uint64_t late_records; /* records out of order, which were kept */
	uint64_t lost_markers; /* without a schema that could be stored */
	uint64_t left_out_markers; /* there were too many: the shortest */
	uint64_t
		merged_rows; /* of samples: there were too many, and a later one has their weight */
	uint64_t merged_counter_values; /* of counters: there were too many, likewise */
	uint64_t left_out_rows; /* of samples: there were too many, and others stand for them */
	uint64_t lost_marker_values; /* values that do not fit the schema; stacks that never came */
	uint64_t lost_counter_values; /* of counters without a description */
	struct wait_stats waits;
	struct alloc_stats allocs;
	uint64_t pauses, paused_ns; /* number and time of pauses of the recording */
};

/* Losses and throttling of one CPU. */
struct cpu_losses {
	uint16_t cpu;
	uint64_t samples; /* of the clock */
	uint64_t events; /* about processes and mappings */
	uint64_t throttled, throttled_ns; /* number and length of pauses of the clock */
};

struct profile {
	struct profile_meta meta;
	VEC(struct profile_category) categories; /* replace those of categories.h; may be empty */
	struct strings strings;
	struct modules modules;
	struct frames frames;
	struct stacks stacks;
	struct funcs funcs;
	struct symbols symbols;
	struct source_files source_files;
	struct threads threads;
	struct markers markers; /* schemas and values; the markers themselves are in threads */
	struct profile_counters counters;
	struct event_counts events; /* events other than the clock */
	VEC(struct cpu_losses) cpu_losses; /* ascending; CPUs without losses are left out */
	struct profile_stats stats;
	struct profile_overhead overhead;
};

struct profile *profile_new(void);
void profile_free(struct profile *p);
/* Returns a static string, unlike those of files; "string" for unknown formats and NULL. */
const char *profile_extra_format(const char *format);
/* Copies section, label and value, and finds the fact that is called so. */
void profile_add_extra(struct profile *p, const char *section, const char *label,
		       const char *format, const char *value);
/* Add the row of one fact. `of` is what "*" stands for in its label, NULL without one. */
void profile_add_fact(struct profile *p, const struct fact *fact);
void profile_add_count(struct profile *p, enum fact_id id, const char *of, uint64_t count);
void profile_add_text(struct profile *p, enum fact_id id, const char *of, const char *text);
/* Adds the rows of these sections, in the order of the panel. */
void profile_add_facts(struct profile *p, const struct facts *facts, enum fact_section first,
		       enum fact_section last);
/* Returns the value in the row of a fact, NULL without such a row. */
const char *profile_fact(const struct profile *p, enum fact_id id, const char *of);
/* Number of frames whose function has a real name (not an address, not fun_…). */
size_t profile_named_frames(const struct profile *p);
/* Number of frames whose function is fun_…: known only from call frame information. */
size_t profile_fde_frames(const struct profile *p);
bool profile_is_fde_frame(const struct profile *p, const struct frame *frame);
/*
 * Takes over these tables instead of its own, and empties them; map: the new stack of each old one,
 * for samples and markers.
 */
void profile_replace_stacks(struct profile *p, struct frames *frames, struct stacks *stacks,
			    const stack_id *map);
/* Marks the stacks of samples, markers and allocations in an array with a place for each stack. */
void profile_mark_stacks(const struct profile *p, bool *used);
/* Marks those of one marker, likewise. */
void profile_mark_marker(const struct profile *p, const struct marker *marker, bool *used);
/*
 * Drops all other stacks, and frames that none has. Returns the new stack of each old one, NO_STACK
 * if it has gone, which the caller frees.
 */
stack_id *profile_keep_stacks(struct profile *p, const bool *used);
/* Drops stacks and frames that no sample and no marker has. */
void profile_drop_unused(struct profile *p);
/* Number of samples of all threads, without those that stand for nothing. */
uint64_t profile_sample_count(const struct profile *p);
/* Returns the clock if it has a sample, else the lowest event with one. */
uint8_t profile_first_event(const struct profile *p);
/* True if the thread waited then: the innermost frame is a label. */
bool profile_is_wait(const struct profile *p, const struct sample *sample);
/* Number of distinct (pid, incarnation) of all threads. */
size_t profile_process_count(const struct profile *p);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The result of a recording: one table per header. Tables consist of rows; columns exist only in
 * file formats. All times are CLOCK_MONOTONIC ns until a format subtracts meta.start_ns.
 */
#pragma once

#include "lib/model/facts/facts.h"
#include "lib/model/tables/frames.h"
#include "lib/model/tables/ids.h"
#include "lib/model/tables/markers.h"
#include "lib/model/tables/modules.h"
#include "lib/model/tables/strings.h"
#include "lib/model/tables/threads.h"

/* Costs of recording, in the fields that front-ends expect, and times of its main events. */

/* Times in µs; mean, maximum and minimum of each. */
enum overhead_field {
	OVERHEAD_MEAN, /* a run of any of the recorder's BPF programs */
	OVERHEAD_MAX,
	OVERHEAD_MIN,
	OVERHEAD_MEAN_CLEANING, /* unused */
	OVERHEAD_MAX_CLEANING,
	OVERHEAD_MIN_CLEANING,
	OVERHEAD_MEAN_COUNTER, /* a run of the BPF program that reads counters */
	OVERHEAD_MAX_COUNTER,
	OVERHEAD_MIN_COUNTER,
	OVERHEAD_MEAN_INTERVAL, /* nominal time between two ticks */
	OVERHEAD_MAX_INTERVAL,
	OVERHEAD_MIN_INTERVAL,
	OVERHEAD_MEAN_LOCKINGS, /* unused */
	OVERHEAD_MAX_LOCKINGS,
	OVERHEAD_MIN_LOCKINGS,
	OVERHEAD_MEAN_THREAD, /* a run of the clock's BPF program */
	OVERHEAD_MAX_THREAD,
	OVERHEAD_MIN_THREAD,
	OVERHEAD_DURATIONS, /* time of all runs */
	OVERHEAD_SHARE, /* time of all runs divided by the profiled time; 1 is a whole CPU */
	OVERHEAD_PROFILED,
	OVERHEAD_SAMPLINGS, /* number of ticks */
	OVERHEAD_FIELD_COUNT
};

enum recording_moment {
	MOMENT_ARMED, /* ms since the start of the profile */
	MOMENT_FIRST_TICK,
	MOMENT_STOPPED,
	MOMENT_TABLES, /* counts rather than times from here on */
	MOMENT_LOST_SAMPLES,
	MOMENT_LOST_EVENTS,
	MOMENT_COUNT
};

/* All values in millionths of their unit. A zeroed struct means unknown. */
struct profile_overhead {
	bool has_statistics, has_log;
	uint64_t statistics[OVERHEAD_FIELD_COUNT];
	uint64_t log[MOMENT_COUNT];
};

/* Names in files. */
extern const char *const overhead_fields[OVERHEAD_FIELD_COUNT];
extern const char *const recording_moments[MOMENT_COUNT];

/* Sampled events other than the clock, by their number in the recording. */

/* More than any recorder uses. Higher numbers in a file are rejected. */
#define EVENT_COUNTS_MAX 64

/* The period of events whose weights are measured, not estimated from samples. */
#define EVENT_IS_EXACT UINT64_MAX

struct event_count {
	string_id name; /* NO_STRING: unknown */
	string_id unit; /* of weights: "bytes", "nanoseconds"; NO_STRING: occurrences */
	/* Weight of one sample, if a row sums up several; 0: each row is a sample. */
	uint64_t period;
	bool is_default; /* shown if no event is chosen */
	/* Derived from samples of the clock: not counted, and one row in displays for all threads.
	 */
	bool is_derived;
	uint64_t samples; /* number of samples in the profile */
	uint64_t weight; /* occurrences represented by the samples */
	uint64_t lost; /* occurrences known to be missing */
	uint64_t throttled, throttled_ns; /* as in struct cpu_losses, summed over all CPUs */
};

struct event_counts {
	VEC(struct event_count) rows; /* indexed by event; row 0, the clock, is empty */
};

/*
 * Returns the row of that event, adding it if new; NULL if `event` is EVENT_COUNTS_MAX or more.
 * Valid until the next call.
 */
struct event_count *event_counts_get(struct event_counts *c, uint32_t number);

/* Meta data: properties of the recording as a whole. */

/* An entry of "Show more" in the front-end's info panel. */
struct profile_extra {
	char *section, *label, *value; /* owned */
	const char *format; /* a marker format: "string", "integer", "bytes", "percentage"… */
	enum fact_id fact; /* FACT_NONE: written by another program */
	const char *of; /* subject that replaced "*" in the label; NULL: none */
};

/* Feature name for a recording of the whole machine. */
#define FEATURE_ALL_PROCESSES "all-processes"

/* Strings; owned, NULL if unknown. */
#define META_TEXTS \
	META_TEXT(product) /* title: name of the command */ \
	META_TEXT(command_line) \
	META_TEXT(os) /* "Linux 6.1.0 x86_64" */ \
	META_TEXT(distribution) /* "Debian GNU/Linux 12 (bookworm)" */ \
	META_TEXT(abi) /* "x86_64-linux" */ \
	META_TEXT(cpu_name) \
	META_TEXT(imported_from) /* source of a conversion: "perf" */

/* Larger numbers are invalid as numbers of a machine. */
#define MACHINE_CPUS_MAX (1u << 20)
#define MACHINE_BYTES_MAX (1ull << 56)

/* Returns a number of an untrusted file, 0 for unknown if it means nothing. */
static inline uint64_t machine_number(uint64_t number, uint64_t max)
{
	return number <= max ? number : 0;
}

struct profile_meta {
#define META_TEXT(member) char *member;
	META_TEXTS
#undef META_TEXT
	uint32_t root_pid; /* pid of the command or of the attached process; 0: none */
	uint32_t physical_cpus, logical_cpus; /* 0: unknown */
	uint64_t memory_bytes;
	uint64_t start_ns; /* CLOCK_MONOTONIC when sampling was armed; time 0 of the file */
	uint64_t start_realtime_ns; /* the same moment since the Unix epoch */
	uint64_t end_ns; /* CLOCK_MONOTONIC when sampling ended */
	uint64_t interval_ns; /* nominal time between samples */
	/* Ticks of one sample if rows have the time that passed, as period of events; 0: one. */
	uint64_t sample_ticks;
	uint64_t duration_limit_ns; /* -d, 0: none */
	uint64_t buffer_bytes; /* sum over all rings */
	bool symbolicated;
	VEC(char *) features; /* "stackwalk", "cpu-clock", FEATURE_ALL_PROCESSES … */
	VEC(char *) filters; /* the front-end's thread filters; holds the command */
	VEC(struct profile_extra) extra;
};

/*
 * Returns an owned copy of a string, or NULL to omit it. `member`: offset of the string in the
 * struct.
 */
typedef char *meta_text_fn(void *ctx, size_t member, const char *text);

/*
 * Copies everything except `extra`, whose rows belong to facts. Overwrites `into`. copy_text NULL:
 * strings stay unchanged.
 */
void profile_meta_copy(struct profile_meta *into, const struct profile_meta *from,
		       meta_text_fn *copy_text, void *ctx);

#define PROFILE_LOST_CAUSES 8

/* A frame category as a file defines it. Strings are owned. */
struct profile_category {
	char *name, *color; /* `color`: one of the front-end's colours */
	VEC(char *) subcategories;
};

/* End of the user side of a stack. */
enum stack_class {
	STACK_CLASS_WHOLE, /* ends at the outermost frame */
	STACK_CLASS_TRUNCATED, /* ends at a depth limit */
	STACK_CLASS_BROKEN, /* ends at a frame whose caller was not found */
	STACK_CLASS_UNKNOWN, /* the end is unknown */
	STACK_CLASS_KERNEL_ONLY, /* kernel thread, without a user side */
	STACK_CLASS_EXITING, /* user side already torn down */
	STACK_CLASS_COUNT,
};

/* Statistics of waits; clock ticks do not count. */
struct wait_stats {
	/* Wait records with a stack; each is in one class, or its stack is lost. */
	uint64_t sampled;
	uint64_t classes[STACK_CLASS_COUNT];
	uint64_t lost_stacks; /* sampled waits whose stack never arrived */
	uint64_t lost; /* sampled waits without a record */
	uint64_t unended; /* sampled waits of unknown length */
	double count; /* estimated number of waits that could have been sampled */
	uint32_t chance_min; /* lowest sampling probability, in 2^-32; 0: no wait was sampled at
				random */
	/* Wait time estimated from samples, and as written to the profile. */
	double estimated_ns, fitted_ns;
};

/* Statistics of allocations; clock ticks do not count. */
struct alloc_stats {
	uint64_t sampled; /* allocation records */
	uint64_t thinned; /* allocations left out for lack of room, represented by others */
	uint64_t matched, unmatched; /* frees of sampled blocks, and of other blocks */
	/* Estimated bytes: allocated in total, and still held at the end. */
	uint64_t bytes, held_bytes;
};

struct profile_stats {
	uint64_t cpu_samples; /* timer ticks that became samples */
	uint64_t user_stacks; /* samples with at least one user frame */
	/*
	 * Each tick with a stack is in exactly one of these classes, by the end of the stack's user
	 * side.
	 */
	uint64_t whole; /* ticks whose stack ends at the outermost frame */
	uint64_t truncated; /* ticks whose stack ends at a depth limit */
	uint64_t broken; /* ticks whose stack ends at a frame without a known caller */
	uint64_t unknown; /* ticks whose stack end is unknown */
	uint64_t kernel_only; /* ticks of kernel threads, without a user side */
	uint64_t exiting; /* ticks whose user side was already torn down */
	uint64_t guessed; /* ticks of all classes above with a guessed frame */
	uint64_t finished_later; /* ticks of all classes above finished in user space from a copy */
	uint64_t unknown_kinds; /* ticks of all classes above that lack frames of unknown kinds */
	uint64_t compat; /* ticks of all classes above from 32-bit programs */
	uint64_t compat_unknown; /* part of compat that is also in `unknown` */
	uint64_t lost[PROFILE_LOST_CAUSES]; /* by enum lost_cause */
	uint64_t wanted_threads; /* records and samples of threads that pass the filters */
	uint64_t late_records; /* records kept although they arrived out of order */
	uint64_t lost_markers; /* markers without a storable schema */
	uint64_t left_out_markers; /* markers left out for lack of room, shortest first */
	uint64_t merged_rows; /* samples left out for lack of room, added to a later one */
	uint64_t merged_counter_values; /* counter samples added to later ones for lack of room */
	uint64_t left_out_rows; /* samples left out for lack of room, represented by others */
	uint64_t lost_marker_values; /* values unfit for the schema, and stacks never received */
	uint64_t lost_counter_values; /* values of counters without a description */
	struct wait_stats waits;
	struct alloc_stats allocs;
	uint64_t pauses, paused_ns; /* number and total time of pauses of the recording */
};

/* Losses and throttling of one CPU. */
struct cpu_losses {
	uint16_t cpu;
	uint64_t samples; /* lost clock samples */
	uint64_t events; /* lost events about processes and mappings */
	uint64_t throttled, throttled_ns; /* number and length of throttled periods of the clock */
};

struct profile {
	struct profile_meta meta;
	VEC(struct profile_category)
	categories; /* replace the categories of categories.h; may be empty */
	struct strings strings;
	struct modules modules;
	struct frames frames;
	struct stacks stacks;
	struct funcs funcs;
	struct symbols symbols;
	struct source_files source_files;
	struct threads threads;
	struct markers markers; /* schemas and values; the threads hold the markers */
	struct profile_counters counters;
	struct event_counts events; /* events besides the clock */
	VEC(struct cpu_losses) cpu_losses; /* in ascending order; CPUs without losses are omitted */
	struct profile_stats stats;
	struct profile_overhead overhead;
};

struct profile *profile_new(void);
void profile_free(struct profile *p);
/*
 * Returns a static string even for formats read from files; "string" for unknown formats and NULL.
 */
const char *profile_extra_format(const char *format);
/* Copies section, label and value, and looks up the fact of that name. */
void profile_add_extra(struct profile *p, const char *section, const char *label,
		       const char *format, const char *value);
void profile_add_count(struct profile *p, enum fact_id id, const char *of, uint64_t count);
void profile_add_text(struct profile *p, enum fact_id id, const char *of, const char *text);
/* Adds the rows of these sections, in the order of the panel. */
void profile_add_facts(struct profile *p, const struct facts *facts, enum fact_section first,
		       enum fact_section last);
/* Returns the value in the row of a fact, or NULL if it has no row. */
const char *profile_fact(const struct profile *p, enum fact_id id, const char *of);

/* FACT_NO_TIMES of a file whose samples measure no time, and that states no duration. */
#define NO_TIMES_AT_ALL "none"
/* Returns the profile's duration; 0: unknown. */
uint64_t profile_duration_ns(const struct profile *p);
/* Number of frames whose function has a real name (not an address, not fun_…). */
size_t profile_named_frames(const struct profile *p);
/* Number of frames whose function is fun_…: found only by call frame information. */
size_t profile_fde_frames(const struct profile *p);
bool profile_is_fde_frame(const struct profile *p, const struct frame *frame);
/*
 * Replaces the profile's own tables by these, and empties them. map: the new stack of each old one,
 * for samples and markers.
 */
void profile_replace_stacks(struct profile *p, struct frames *frames, struct stacks *stacks,
			    const stack_id *map);
/* Marks the stacks of samples, markers and allocations in an array indexed by stack. */
void profile_mark_stacks(const struct profile *p, bool *used);
void profile_mark_marker(const struct profile *p, const struct marker *marker, bool *used);
/*
 * Drops all other stacks, and frames that no stack uses any more. Returns the new id of each old
 * stack, NO_STACK if dropped; the caller frees it.
 */
stack_id *profile_keep_stacks(struct profile *p, const bool *used);
/* Drops stacks and frames that no sample, marker or allocation uses. */
void profile_drop_unused(struct profile *p);
/* Converts to ns since the profile's start. Earlier times become the start. */
static inline uint64_t profile_since_start(const struct profile *p, uint64_t time)
{
	return time > p->meta.start_ns ? time - p->meta.start_ns : 0;
}
/* Returns the innermost frame of a stack. */
static inline const struct frame *profile_frame_of(const struct profile *p, stack_id stack)
{
	return &p->frames.rows.items[p->stacks.rows.items[stack].frame];
}
/* Returns whether the frame has a function's name, not just an address or a description. */
static inline bool profile_frame_is_named(const struct profile *p, const struct frame *frame)
{
	return frame->func != NO_FUNC && p->funcs.rows.items[frame->func].is_named;
}
bool event_is_derived(const struct profile *p, uint8_t event);
/* Number of samples of all threads, except derived ones and those of weight 0. */
uint64_t profile_sample_count(const struct profile *p);
/*
 * Returns the default event if it has a sample; otherwise the clock, or the lowest event with a
 * sample. Waits do not count.
 */
uint8_t profile_first_event(const struct profile *p);
/* Returns the number of the event of that name, added if new; 0 if there are too many. */
uint8_t profile_event(struct profile *p, const char *name);
/* Returns the number of an event of `from`, copied with its unit if new; 0: no name, or no room. */
uint8_t profile_copy_event(struct profile *p, const struct profile *from, uint8_t event);
/* The same for all of them, under their own numbers. */
void profile_copy_events(struct profile *p, const struct profile *from);

/* Kinds of units of weights. */
enum measure {
	MEASURE_COUNT,
	MEASURE_BYTES,
	MEASURE_TIME,
};

/* Returns a unit's kind, and its size in bytes or ns. */
enum measure unit_measure(const char *unit, double *size);
/* Does the same for an event. The unit of the clock is its interval, if that is known. */
enum measure event_measure(const struct profile *p, uint8_t event, double *size);
/* True if the sample is a wait: its innermost frame is a label. */
bool profile_is_wait(const struct profile *p, const struct sample *sample);
/* Number of distinct (pid, incarnation) of all threads. */
size_t profile_process_count(const struct profile *p);

/*
 * Numbers of rows dropped because there were too many, stored in the profile's info panel for any
 * reader.
 */

/* event 0: the clock, including waits. weight: minimum weight of each remaining row. */
void thinned_add(struct profile *p, uint8_t event, uint64_t left_out, uint64_t weight);
/* Returns the minimum number of clock samples that a row represents: 1 if none were dropped. */
uint64_t thinned_weight(const struct profile *p);

/* The time range of a profile, for files that do not state it. */

struct time_range {
	uint64_t start, end;
};

/*
 * Sets start and end of a profile that was read. If `stated` is NULL, the profile begins with the
 * first sample, marker or allocation and ends with the end of the last one, as in front-ends. Rows
 * with CLOCK_NO_TIME get a time that does not extend the range. Drops an impossible wall-clock
 * start.
 */
void profile_set_range(struct profile *p, const struct time_range *stated);

/* SPDX-License-Identifier: MIT */
/* The reader of flight recordings: events of a chunk become rows of a profile. */
#pragma once

#include "lib/format/foreign.h"
#include "lib/format/jfr/jfr_file.h"

/* Rows of a profile by keys of a chunk. */
struct known_row {
	uint64_t key;
	uint32_t row;
};

struct known_rows {
	VEC(struct known_row) rows;
	struct index index;
};

/* Indices of values in the constants of a chunk. */
struct layout {
	uint32_t stack_frames;
	uint32_t frame_method, frame_line, frame_type;
	uint32_t method_class, method_name, method_descriptor;
	uint32_t class_name;
	uint32_t thread_os_name, thread_os_id, thread_name, thread_id, thread_virtual;
};

struct jfr_reader;
struct event;

/* Treatment of the events of a type. */
struct event_kind {
	const char *name;
	void (*add)(struct jfr_reader *r, const struct event *e);
	const char *text; /* label of a wait, counter, event */
	uint8_t reason; /* enum idle_subcategory */
	bool is_no_marker;
};

/* A type of events in the current chunk. */
struct event_type {
	bool is_known;
	const struct event_kind *kind;
	uint32_t start, duration, thread, stack;
	schema_id schema;
	uint32_t leaf_of_field[SCHEMA_FIELDS_MAX];
};

struct event {
	struct event_type *type;
	uint32_t row; /* of the type */
	uint64_t start, end; /* ns since the start of the first chunk */
	struct jfr_value values[JFR_LEAVES_MAX];
};

/* Settings of a recorder. */
struct periods {
	uint64_t execution_ns, wall_ns; /* 0: unknown */
	bool is_async, samples_wall;
};

/* Facts about a chunk, collected before its events are read. */
struct survey {
	uint64_t at; /* offset of the chunk */
	struct periods periods;
	uint32_t pid; /* 0: unknown */
};

/* A sample whose turn has not come. */
struct pending_sample {
	uint64_t time, weight;
	thread_id thread;
	stack_id stack;
	uint32_t row; /* its place among those of the same time */
	uint8_t event;
};

struct jfr_reader {
	struct foreign f;
	struct jfr_input in;
	struct jfr_chunk *chunk;
	struct layout layout;
	VEC(struct event_type) types; /* by the chunk's type row */
	struct known_rows stacks, methods, threads, tiers;
	VEC(frame_id) frames;
	VEC(uint64_t) remainders; /* ns of waits not yet turned into whole ticks, by thread */
	VEC(struct survey) surveys;
	VEC(struct pending_sample) pending;
	struct periods periods;
	uint64_t base_ns; /* start of the first chunk, since the Unix epoch */
	uint64_t end; /* end of the last event or chunk */
	uint32_t pid;
	uint32_t virtual_rows;
	uint64_t chunks, unfinished, left_out, markers;
	uint64_t lost_ns, failed, pauses, pause_ns;
	uint64_t cpu_time_ns; /* shortest period of CPU time samples */
	bool has_cpu_time; /* these samples are the clock */
	bool has_allocation_samples; /* these stand for all allocations */
	bool has_default_period, throttles, has_jvm;
};

/* Values of events. */

/* Return a value without a kind if the event has no such value. */
struct jfr_value jfr_value_at(const struct event *e, uint32_t leaf);
struct jfr_value jfr_value_of(struct jfr_reader *r, const struct event *e, const char *name);
/* The same for values of a constant. */
struct jfr_value jfr_member(const struct jfr_value *values, uint32_t leaf);
/* Returns 0 for negative and missing numbers. */
uint64_t jfr_number_of(struct jfr_reader *r, const struct event *e, const char *name);
/* Sets `out` to a text, or that of a simple constant; "" for others. Returns it. */
const char *jfr_text_of(struct jfr_reader *r, struct jfr_value value, struct strbuf *out);

/* Constants of a chunk, each read once. */

/* Drops those of the previous chunk. */
void jfr_constants_begin(struct jfr_reader *r);
void jfr_constants_release(struct jfr_reader *r);
/* Sets `out` to the name of a class in the JVM's form. Returns it. */
const char *jfr_class_name(struct jfr_reader *r, struct jfr_value class, struct strbuf *out);
/* Appends a class as in Java source: "java.lang.String[]" for "[Ljava/lang/String;". */
void jfr_add_class(struct strbuf *out, const char *name);
/* Appends a method's name as in Java source. Returns its enum code_role. */
uint8_t jfr_add_method(struct jfr_reader *r, const struct jfr_value *values, const char *class,
		       struct strbuf *out);
/* Returns NO_STACK for events without a stack. */
stack_id jfr_stack_of(struct jfr_reader *r, const struct event *e);
/* Return the row of the JVM itself if there is no thread. */
thread_id jfr_thread_of_value(struct jfr_reader *r, struct jfr_value ref);
thread_id jfr_thread_of(struct jfr_reader *r, const struct event *e);
thread_id jfr_process_row(struct jfr_reader *r);

void jfr_add_marker(struct jfr_reader *r, const struct event *e);

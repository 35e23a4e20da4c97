/* SPDX-License-Identifier: MIT */
/*
 * The reader of traces. Spans, instants and pairs become markers, of which the longest are kept;
 * the arguments of those are read from the file again at the end, so that memory stays bounded.
 */
#pragma once

#include "lib/format/foreign.h"
#include "lib/format/trace/trace_input.h"
#include "lib/format/v8_tree.h"

/* Longest name of an event, and longest value of an argument, in bytes. */
#define TRACE_TEXT_MAX 1024

enum trace_member {
	TRACE_PHASE,
	TRACE_NAME,
	TRACE_CATEGORY,
	TRACE_TIME,
	TRACE_DURATION,
	TRACE_PID,
	TRACE_TID,
	TRACE_ID,
	TRACE_ID2,
	TRACE_SCOPE,
	TRACE_ARGS,
	TRACE_STACK_FRAME,
	TRACE_WEIGHT,
	TRACE_MEMBER_COUNT,
};

struct trace_event {
	struct json_cursor s; /* the text of the spans */
	uint64_t offset; /* of that text in the file */
	struct span spans[TRACE_MEMBER_COUNT]; /* values; 0, 0: missing */
	char phase;
	uint64_t time; /* ns; CLOCK_NO_TIME: none */
	uint32_t thread; /* row, of an event that has a time */
};

/* Name and category of events. */
struct trace_label {
	string_id name, category;
	frame_id frame; /* NO_FRAME: not made yet */
};

enum trace_kind {
	KIND_SPAN,
	KIND_ASYNC,
	KIND_INSTANT,
	KIND_FLOW,
};

/* A marker to be. */
struct trace_marker {
	uint64_t start, end; /* end CLOCK_NO_TIME: never ended */
	uint64_t args; /* offset in the file; 0: none */
	uint32_t label, thread;
	uint32_t from; /* the thread at the start of a flow */
	stack_id stack;
	uint8_t kind; /* enum trace_kind */
};

/* A process or thread by its ids in the file, which may be numbers or texts. */
struct trace_process {
	string_id key, name;
	uint32_t pid;
	bool has_number; /* otherwise it is a group of rows, not a process */
};

struct trace_thread {
	string_id key, name;
	uint32_t process; /* row */
	uint32_t tid;
	bool has_number;
	bool is_late; /* outer spans stand after inner ones, as if written at their ends */
	uint64_t last_start;
	thread_id id; /* NO_THREAD: it has no events */
	/*
	 * Begins and ends in order of time, and spans by their ends, as rows of samples: these are
	 * sorted, and beyond a bound in a file.
	 */
	struct samples edges, spans;
};

/* Begun and not ended, by hash of what identifies it. */
struct trace_open {
	uint64_t key;
	uint32_t next; /* an older one with the same key, or INDEX_NONE */
	bool is_end; /* a flow whose end stands before its start */
	struct trace_marker marker;
};

struct trace_opens {
	VEC(struct trace_open) rows;
	struct index index;
	uint32_t unused; /* list of free rows */
};

struct v8_profile; /* profiles of V8 */

struct trace_reader {
	struct foreign f;
	struct trace_input in;
	struct strings keys; /* ids of the file */
	VEC(struct trace_process) processes;
	VEC(struct trace_thread) threads;
	struct index process_index, thread_index;
	uint32_t last_process, last_thread; /* of the last event */
	VEC(struct trace_label) labels;
	struct index label_index;
	uint64_t label_bytes;
	VEC(struct trace_marker) markers;
	uint64_t shortest; /* shorter markers are left out */
	struct trace_opens asyncs, flows;
	VEC(struct v8_profile) profiles;
	struct strings frame_keys; /* ids of stack frames */
	VEC(stack_id) stacks; /* by id of the stack frame */
	bool has_frames, needs_frames, has_samples;
	struct strings schema_keys; /* names and types of arguments, by schema */
	VEC(schema_id) schemas;
	uint64_t start, end; /* of all events */
	uint64_t base_ns; /* wall clock at time 0; 0: unknown */
	uint64_t events, left_out;
	uint32_t sample_count; /* of V8 */
	uint32_t invented; /* ids given so far to processes and threads without a number */
};

/* Values. */

/* Powers of ten in a unit, in ns. */
enum { TRACE_NS = 0, TRACE_US = 3, TRACE_MS = 6 };

/* Returns a time in this unit as ns, CLOCK_NO_TIME for anything but a number or a text of one. */
uint64_t trace_ns(const struct json_cursor *s, struct span span, int places);
/* Copies a text or any other value, up to TRACE_TEXT_MAX bytes of it, as one line. */
void trace_text(const struct json_cursor *s, struct span span, struct strbuf *out);

/* Rows. */

uint32_t trace_label(struct trace_reader *r, const struct trace_event *e);
frame_id trace_label_frame(struct trace_reader *r, uint32_t label);
/* Returns INDEX_NONE if there are too many. */
uint32_t trace_process_of(struct trace_reader *r, const struct trace_event *e);
uint32_t trace_thread_of(struct trace_reader *r, const struct trace_event *e);
/* Makes the thread's row in the profile. */
thread_id trace_thread_use(struct trace_reader *r, uint32_t thread);

/* Markers. */

void trace_marker_add(struct trace_reader *r, const struct trace_marker *marker);
/* Events that begin, end or point to something by an id. */
void trace_add_async(struct trace_reader *r, const struct trace_event *e);
void trace_add_flow(struct trace_reader *r, const struct trace_event *e);
/* Gives the threads their markers, with their arguments. */
void trace_markers_finish(struct trace_reader *r);

/* Spans. */

void trace_add_edge(struct trace_reader *r, const struct trace_event *e);
void trace_add_span(struct trace_reader *r, const struct trace_event *e);
/* Pairs begins with ends. */
void trace_edges_finish(struct trace_reader *r);
/* Makes samples of the time that spans spend in themselves. */
void trace_spans_finish(struct trace_reader *r);

/* Samples. */

/* An event of V8's profiler, or with a stack. */
void trace_add_sample(struct trace_reader *r, const struct trace_event *e);
/* Return false if the value is damaged. */
bool trace_read_frames(struct trace_reader *r, struct json_cursor s);
bool trace_read_samples(struct trace_reader *r, struct json_cursor s);
/* Returns NO_STACK without one. */
stack_id trace_stack_of(struct trace_reader *r, const struct trace_event *e);
void trace_profiles_finish(struct trace_reader *r);
void trace_profiles_release(struct trace_reader *r);

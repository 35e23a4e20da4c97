/* SPDX-License-Identifier: MIT */
/*
 * The reader of traces. Spans, instants and pairs become markers, of which the longest are kept;
 * their arguments are read again from the file at the end, so that memory stays bounded.
 */
#pragma once

#include "lib/format/foreign.h"
#include "lib/format/v8_tree.h"

/*
 * A window over untrusted JSON text of any size, in memory or in a file. If the window ends before
 * a value does, more of the file is read and the value is parsed again:
 *
 *	do {
 *		s = in->s;
 *	} while (!parse(&s) && trace_input_more(in));
 *	in->s.at = s.at;	// spans of the value are valid until the next call
 */
struct trace_input {
	struct json_cursor s; /* at the next byte of the window */
	uint64_t base; /* offset of the window in the file */
	uint64_t size; /* of the file */
	int fd; /* -1: the window is the whole text */
	size_t passed; /* of that text, by infile_pass() */
	char *buffer;
	size_t room;
};

/* Copies up to `size` bytes from an offset in the file. Returns their number. */
size_t trace_input_copy(const struct trace_input *in, uint64_t offset, char *to, size_t size);

/* Maximum length of an event's name and of an argument's value, in bytes. */
#define TRACE_TEXT_MAX 1024

/* Category of py-spy's events. */
#define TRACE_PY_SPY "\"py-spy\""
/* The name of Chrome's event with a whole CPU profile, before version 66. */
#define TRACE_WHOLE_PROFILE "\"CpuProfile\""

enum trace_member {
	TRACE_PHASE,
	TRACE_NAME,
	TRACE_CATEGORY,
	TRACE_TIME,
	TRACE_DURATION,
	TRACE_CPU_DURATION,
	TRACE_PID,
	TRACE_TID,
	TRACE_ID,
	TRACE_ID2,
	TRACE_SCOPE,
	TRACE_ARGS,
	TRACE_STACK_FRAME,
	TRACE_WEIGHT,
	TRACE_SAMPLED, /* of samples: the name of their event */
	TRACE_MEMBER_COUNT,
};

struct trace_event {
	struct json_cursor s; /* the text of the spans */
	uint64_t offset; /* offset of that text in the file */
	struct span spans[TRACE_MEMBER_COUNT]; /* values; 0, 0: missing */
	char phase;
	uint64_t time; /* ns; CLOCK_NO_TIME: none */
	uint32_t thread; /* row, for an event with a time */
};

/* Name and category of events. */
struct trace_label {
	string_id name, category;
	bool has_call_line; /* the line is that of the call, not of the function */
	frame_id frame; /* NO_FRAME: not created yet */
};

enum trace_kind {
	KIND_SPAN,
	KIND_ASYNC,
	KIND_INSTANT,
	KIND_FLOW,
};

/* A marker to be created. */
struct trace_marker {
	uint64_t start, end; /* end CLOCK_NO_TIME: never ended */
	uint64_t args; /* offset in the file; 0: none */
	uint32_t label, thread;
	uint32_t from; /* the thread at the start of a flow */
	stack_id stack;
	uint8_t kind; /* enum trace_kind */
};

/* A process or thread by its id in the file, which may be a number or a string. */
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
	bool is_late; /* outer spans follow inner ones, as if written at their ends */
	uint64_t last_start;
	thread_id id; /* NO_THREAD: it has no events */
	/*
	 * Starts and ends by time, and spans by their ends, as rows of samples, which can be sorted
	 * and spill to a file.
	 */
	struct samples edges, spans;
};

/* Begun and not ended, by a hash of its identity. */
struct trace_open {
	uint64_t key;
	uint32_t next; /* an older one with the same key, or INDEX_NONE */
	bool is_end; /* a flow whose end precedes its start */
	struct trace_marker marker;
};

struct trace_opens {
	VEC(struct trace_open) rows;
	struct index index;
	uint32_t unused; /* list of free rows */
};

struct v8_profile; /* V8's profiles */

struct trace_reader {
	struct foreign f;
	struct trace_input in;
	struct strings keys; /* ids of the file */
	VEC(struct trace_process) processes;
	VEC(struct trace_thread) threads;
	struct index process_index, thread_index;
	uint32_t last_process, last_thread; /* those of the last event */
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
	uint64_t start, end; /* times of all events */
	uint64_t base_ns; /* wall clock at time 0; 0: unknown */
	uint64_t events, left_out;
	uint32_t sample_count; /* V8 samples */
	uint32_t invented; /* ids invented so far for processes and threads without a number */
};

/* Values. */

/* Powers of ten in a unit, in ns. */
enum { TRACE_NS = 0, TRACE_US = 3, TRACE_MS = 6 };

/* Returns a time in this unit as ns, CLOCK_NO_TIME for anything but a number or its text. */
uint64_t trace_ns(const struct json_cursor *s, struct span span, int places);
/* Copies a string or any other value, up to TRACE_TEXT_MAX bytes, as one line. */
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
/* Events that start, end or refer to something by an id. */
void trace_add_async(struct trace_reader *r, const struct trace_event *e);
void trace_add_flow(struct trace_reader *r, const struct trace_event *e);
/* Adds the markers, with their arguments, to the threads. */
void trace_markers_finish(struct trace_reader *r);

/* Spans. */

void trace_add_edge(struct trace_reader *r, const struct trace_event *e);
void trace_add_span(struct trace_reader *r, const struct trace_event *e);
/* Pairs starts with ends. */
void trace_edges_finish(struct trace_reader *r);
/* Makes samples of the self time of spans. */
void trace_spans_finish(struct trace_reader *r);

/* Samples. */

/* Adds an event of V8's profiler, or one with a stack. */
void trace_add_sample(struct trace_reader *r, const struct trace_event *e);
/* Return false if the value is damaged. */
bool trace_read_frames(struct trace_reader *r, struct json_cursor s);
bool trace_read_samples(struct trace_reader *r, struct json_cursor s);
/* Returns NO_STACK without one. */
stack_id trace_stack_of(struct trace_reader *r, const struct trace_event *e);
void trace_profiles_finish(struct trace_reader *r);
void trace_profiles_release(struct trace_reader *r);

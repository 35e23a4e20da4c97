/* SPDX-License-Identifier: MIT */
/*
 * Private to this room, which reads a processed profile into a struct profile. Ids of the profile
 * are rows of the file, except those of strings and source files.
 *
 *	layout.h	the places of the file's parts, and one column table
 *	cells.h		the columns that describe frames; tables by columns or rows, a cell at a
 *time firefox_read.c	the whole file, threads and views, which it merges into their threads
 *	read_meta.c	meta with its extra part, and the overhead of the recording
 *	read_tables.c	the shared tables
 *	read_samples.c	a thread's samples and allocations, counters
 *	read_markers.c	a thread's markers, their schemas and data
 *	own_tables.c	tables of each thread, in processed profiles up to version 59, and their
 *stacks gecko_read.c	Gecko profiles: processes in processes, with the tables of each thread
 *	old_markers.c	markers and categories of waits in older files
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_READ_INTERNAL_H
#define PROF_LIB_FORMAT_FIREFOX_READ_READ_INTERNAL_H

#include "lib/format/firefox/read/cells.h"
#include "lib/format/format.h"
#include "lib/model/tables/time_range.h"

struct sample_list {
	VEC(struct sample) rows;
};

/* A marker of a thread whose schema is not known yet. */
struct marker_draft {
	string_id name, category;
	uint64_t start, end; /* since the start of the process */
	int64_t phase; /* enum marker_phase; -1: the data tells */
	struct span data;
	string_id type; /* of the data; NO_STRING: none */
};

enum marker_phase { PHASE_INSTANT, PHASE_INTERVAL, PHASE_START, PHASE_END };

/* Properties of frames that follow from the file's categories. */
struct category_meaning {
	uint8_t kind, language; /* enum profile_frame_kind; enum language_id */
	int guess; /* subcategory of guesses; -1: none */
};

/* Clock samples of one CPU. The same samples are in the rows of threads. */
struct cpu_view {
	uint16_t cpu;
	struct sample_list samples;
};

struct import {
	struct layout layout;
	struct cells cells;
	struct profile *profile;
	struct import_counts *counts;
	string_id *strings; /* by row of stringArray */
	size_t string_count;
	/* Rows of the stackTable, and their stacks; NULL: row n is stack n. */
	size_t stack_count;
	stack_id *stack_ids; /* of samples */
	stack_id *cause_ids; /* of causes, whose leaf is a return address, too */
	struct category_meaning *meanings; /* by row of meta.categories */
	/* Reads a thread's own tables in older files; NULL: threads share tables. */
	int (*read_own_tables)(struct import *r, struct json_cursor s, struct error *err);
	struct own_tables *own; /* its state, owned */
	int64_t version; /* of the kind of file that it is: processed or Gecko */
	bool is_gecko;
	int64_t shift_ns; /* from the clock of the thread's process to that of the file */
	struct time_range recorded; /* since the start of the file; end 0: not told */
	uint32_t process_pid; /* of threads and counters that have none */
	source_file_id *sources; /* by row of sources */
	uint32_t cpu_time_unit; /* unit of threadCPUDelta in ns; 0: not a unit of time */
	VEC(uint32_t) row_fields; /* by schema; bit n: values of field n are rows of stringArray */
	VEC(char *) events; /* names, owned; event n is row n - 1 */
	VEC(struct cpu_view) cpus;
};

/* Reads a string as json_cursor_text() does and interns it. */
string_id import_string(struct import *r, struct json_cursor *s);
/* Reads milliseconds as ns; CLOCK_NO_TIME for all that no clock can show. */
uint64_t import_instant(struct json_cursor *s);
/* Likewise, with 0 for those. */
uint64_t import_time(struct json_cursor *s);
/*
 * Reads an integer. Cuts off a fraction, and gives 0 for values that are not numbers; returns false
 * in both cases.
 */
bool import_integer(struct json_cursor *s, int64_t *number);

/* Returns the moment that lies so long after the start of the thread's process, if it is known. */
uint64_t import_moment(const struct import *r, uint64_t ns);

/* Sum of milliseconds without rounding errors. */
struct import_clock {
	int64_t ns;
	int32_t ps;
};

/*
 * Adds the number at the cursor and returns the sum in ns, or CLOCK_NO_TIME if no clock can show
 * it.
 */
uint64_t import_clock_add(struct import_clock *clock, struct json_cursor *s);
/*
 * Reads a pid or tid: "123", 123, or "123.1" for the second process with the number, which gets
 * `again` 1. Other texts get a number that no process can have.
 */
uint32_t import_id(struct import *r, struct json_cursor *s, uint32_t *again);
/* Skips a value. Returns false if it says nothing. */
bool import_skip(struct json_cursor *s);

/* read_meta.c */
int import_meta(struct import *r, struct error *err);
/* Sets start and end of the profile, when all else is read. */
void import_set_range(struct import *r);
/* firefox_read.c: release what an import has; settle what needs all threads. */
void import_release(struct import *r);
int import_finish(struct import *r, struct error *err);
/* Adds the categories that files had before they told them. */
int import_old_categories(struct import *r, struct error *err);
/* Reads a list of categories, or of schemas, and adds them to those of the profile. */
int import_categories(struct import *r, struct json_cursor *s, struct error *err);
void import_schema_list(struct import *r, struct json_cursor *s);
/* read_meta.c: meta.extra, except entries that the writer counts itself. */
void import_extra(struct import *r);
/* read_tables.c */
int import_tables(struct import *r, struct error *err);
/* Adds a module for a library. */
module_id import_module(struct import *r, const struct layout_lib *lib);
/* Sets kind, language and tier by module and category. */
void import_categorize(struct import *r, struct frame *frame);
/* old_markers.c: call it when frames and functions are read. */
void import_join_waits(struct import *r);
/* own_tables.c: prepares to read the tables of each thread. */
int import_own_tables(struct import *r, struct error *err);
/*
 * firefox_read.c: adds those of layout.threads. import_settle_threads() follows when all are there.
 */
void import_settle_threads(struct import *r);
int import_threads(struct import *r, struct error *err);
/*
 * read_samples.c: reads the object at the cursor; replaces the contents of `samples`. Leaves out
 * rows that stand for nothing.
 */
int import_samples(struct import *r, struct json_cursor *s, struct sample_list *samples,
		   struct error *err);
/* read_samples.c: reads the object at the cursor; replaces what is in `into`. */
int import_allocations(struct import *r, struct json_cursor *s, struct allocations *into,
		       struct error *err);
/* read_markers.c: the schemas, and a thread's table of markers. */
void import_schemas(struct import *r);
int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err);
/* Reads the index of one of `count` rows; -1: null. Fails if there is no such row. */
int64_t import_index(struct json_cursor *s, size_t count);
/* read_markers.c: sets the values that the schema has, and the cause. */
void import_marker_data(struct import *r, struct json_cursor *s, struct marker *marker);
/* old_markers.c: schemas of files that have none. */
void import_old_schemas(struct import *r);
/* old_markers.c: what markers have in their data in older files, and elsewhere in newer ones. */
void import_upgrade_marker(struct import *r, struct marker_draft *draft);
/* Returns the schema for markers without one in the file; NO_SCHEMA: there are too many. */
schema_id import_schema_for(struct import *r, const char *type, struct json_cursor data);
/* read_samples.c: call it after the threads are read. */
int import_counters(struct import *r, struct error *err);
/* read_meta.c: what it does not know is left out. */
void import_overhead(struct import *r);
/* firefox_read.c: returns the number of an event by its name; 0: too many events. */
uint8_t import_event(struct import *r, const char *name);
/* Adds the samples of an event to those of their thread. */
void import_add_event(struct import *r, struct profile_thread *thread,
		      const struct sample_list *samples, uint8_t event);
/* Sets the CPUs of samples. Call once, at the end. */
void import_apply_cpus(struct import *r);

#endif

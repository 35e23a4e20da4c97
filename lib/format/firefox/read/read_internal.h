/* SPDX-License-Identifier: MIT */
/*
 * Private to this room, which reads a processed profile into a struct profile. Ids of the profile
 * are rows of the file, except those of strings and source files.
 *
 *	layout.h	positions of the file's parts; column tables
 *	cells.h		columns of tables; reads tables by columns or rows, cell by cell
 *	firefox_read.c	the whole file, its threads; merges derived rows into their threads
 *	read_meta.c	meta with its extra part, and the overhead of the recording
 *	read_tables.c	the shared tables, or up to version 59 those of each thread
 *	read_samples.c	a thread's samples and allocations, counters
 *	read_markers.c	a thread's markers, their schemas and data
 *	gecko_read.c	Gecko profiles: nested processes, per-thread tables
 *	old_markers.c	markers and categories of waits in older files
 */
#pragma once

#include "lib/format/firefox/read/cells.h"
#include "lib/format/format.h"
#include "lib/model/tables/profile.h"

struct sample_list {
	VEC(struct sample) rows;
};

/* A marker of a thread whose schema is not known yet. */
struct marker_draft {
	string_id name, category;
	uint64_t start, end; /* times since the start of the process */
	int64_t phase; /* enum marker_phase; -1: implied by the data */
	struct span data;
	string_id type; /* type of the marker data; NO_STRING: no data */
};

enum marker_phase { PHASE_INSTANT, PHASE_INTERVAL, PHASE_START, PHASE_END };

/* Properties of frames that follow from the file's categories. */
struct category_meaning {
	uint8_t kind, language; /* enum profile_frame_kind; enum language_id */
	int guess; /* subcategory of guessed frames; -1: not guessed */
};

/* Clock samples of one CPU. The same samples are in the rows of threads. */
struct cpu_view {
	uint16_t cpu;
	struct sample_list samples;
};

/* A library of a process, with the addresses of its mapping. */
struct own_lib {
	uint64_t start, end; /* 0, 0: missing */
	uint64_t offset; /* file offset that corresponds to `start` */
	module_id module;
};

struct own_libs {
	VEC(struct own_lib) rows;
};

/* A module, found by the library's properties. */
struct own_module {
	string_id name, path;
	uint64_t id_hash; /* hash of the build id */
	module_id module;
};

/* A frame in two forms: as the leaf of a sample, and as a caller. */
struct own_frame {
	frame_id exact, caller;
};

/* A row of a stackTable. */
struct own_stack {
	int64_t prefix, frame; /* rows of the file; -1: missing */
	int64_t category, subcategory;
};

struct own_tables {
	VEC(struct own_module) modules;
	struct index module_index;
	struct own_libs libs; /* libs of the process or thread, in file order */
	/* Rows of the profile by row of the file. */
	VEC(func_id) funcs;
	VEC(module_id) func_modules; /* by function: module that contains the code */
	VEC(symbol_id) symbols;
	VEC(struct own_frame) frames;
	VEC(string_id) sources; /* names of source files */
};

struct import {
	struct layout layout;
	struct cells cells;
	struct profile *profile;
	struct import_counts *counts;
	string_id *strings; /* string id by row of stringArray */
	size_t string_count;
	/* By row of the stackTable. */
	size_t stack_count;
	stack_id *stack_ids; /* stacks of samples */
	stack_id *cause_ids; /* stacks of causes, whose leaf is also a return address */
	struct category_meaning *meanings; /* by row of meta.categories */
	/* Reads a thread's own tables in older files; NULL: threads share tables. */
	int (*read_own_tables)(struct import *r, struct json_cursor s, struct error *err);
	struct own_tables own; /* tables of the current thread */
	int64_t version; /* version of the file format, processed or Gecko */
	bool is_gecko;
	int64_t shift_ns; /* offset from the process clock to the file clock */
	struct time_range recorded; /* times since the start of the file; end 0: missing */
	uint32_t process_pid; /* pid for threads and counters without a pid */
	source_file_id *sources; /* source file by row of sources */
	bool is_event; /* the current thread is the row of an event */
	uint32_t cpu_time_unit; /* ns per unit of threadCPUDelta; 0: not a unit of time */
	VEC(uint32_t)
	row_fields; /* by schema; bit n: values of field n are indexes of stringArray */
	VEC(char *) events; /* event names, owned; event n is row n - 1 */
	VEC(struct cpu_view) cpus;
};

/* Reads a string as json_cursor_text() does and interns it. */
string_id import_string(struct import *r, struct json_cursor *s);
/* Reads milliseconds as ns; CLOCK_NO_TIME for values out of a clock's range. */
uint64_t import_instant(struct json_cursor *s);
/* Does the same, but returns 0 for such values. */
uint64_t import_time(struct json_cursor *s);
/*
 * Reads an integer. Truncates fractions, and reads 0 for other values; returns false in both cases.
 */
bool import_integer(struct json_cursor *s, int64_t *number);

/* Converts a time since the start of the thread's process, if that is known. */
uint64_t import_moment(const struct import *r, uint64_t ns);

/* Sum of milliseconds without rounding errors. */
struct import_clock {
	int64_t ns;
	int32_t ps;
};

/*
 * Adds the number at the cursor and returns the sum in ns, or CLOCK_NO_TIME out of a clock's range.
 */
uint64_t import_clock_add(struct import_clock *clock, struct json_cursor *s);
/*
 * Reads a pid or tid: "123", 123, or "123.1" for the second process with the number, for which
 * `again` is 1. Other strings yield an impossible number.
 */
uint32_t import_id(struct import *r, struct json_cursor *s, uint32_t *again);
/* Skips a value. Returns false if it has no content. */
bool import_skip(struct json_cursor *s);

/* read_meta.c */
int import_meta(struct import *r, struct error *err);
/* Sets start and end of the profile. Call after everything else has been read. */
void import_set_range(struct import *r);
/* firefox_read.c: free an import; finish the parts that depend on all threads. */
void import_release(struct import *r);
int import_finish(struct import *r, struct error *err);
/* Adds the categories of files that have no list of categories yet. */
int import_old_categories(struct import *r, struct error *err);
/* Reads a list of categories, or of schemas, into the profile. */
void import_schema_list(struct import *r, struct json_cursor *s);
/* read_tables.c: reads the tables that threads share. */
int import_tables(struct import *r, struct error *err);
/* Prepares to read the tables of each thread. */
int import_own_tables(struct import *r, struct error *err);
/* Sets kind, language and tier by module and category. */
void import_categorize(struct import *r, struct frame *frame);
/* old_markers.c: call after frames and functions are read. */
void import_join_waits(struct import *r);
/*
 * firefox_read.c: adds the threads of layout.threads. Call import_settle_threads() after all are
 * added.
 */
int import_threads(struct import *r, struct error *err);
/*
 * read_samples.c: reads the object at the cursor; replaces the contents of `samples`. Drops rows
 * without weight or meaning.
 */
int import_samples(struct import *r, struct json_cursor *s, struct sample_list *samples,
		   struct error *err);
/* read_samples.c: reads the object at the cursor; replaces the contents of `into`. */
int import_allocations(struct import *r, struct json_cursor *s, struct allocations *into,
		       struct error *err);
/* read_markers.c: the schemas, and a thread's table of markers. */
void import_schemas(struct import *r);
int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err);
/* old_markers.c: schemas of files without schemas. */
void import_old_schemas(struct import *r);
/* old_markers.c: moves values from the data to the members used by newer versions. */
void import_upgrade_marker(struct import *r, struct marker_draft *draft);
/* Returns the schema for markers without one in the file; NO_SCHEMA if there are too many. */
schema_id import_schema_for(struct import *r, const char *type, struct json_cursor data);
/* read_samples.c: call after the threads are read. */
int import_counters(struct import *r, struct error *err);
/* read_meta.c: unknown values are dropped. */
void import_overhead(struct import *r);
/* firefox_read.c: returns an event's number by name; 0: too many events. */
uint8_t import_event(struct import *r, const char *name);

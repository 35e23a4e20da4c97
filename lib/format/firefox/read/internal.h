/* SPDX-License-Identifier: MIT */
/*
 * Private to this room, which reads a processed profile into a struct profile. Ids of the profile
 * are rows of the file, except those of strings and source files.
 *
 *	layout.h	the places of the file's parts
 *	table.h		one column table
 *	cells.h		the columns that describe frames
 *	read.c		the whole file
 *	read_meta.c	meta
 *	read_extra.c	meta.extra
 *	read_tables.c	the shared tables
 *	old_waits.c	categories of waits in older files
 *	read_threads.c	threads and views
 *	read_samples.c	a thread's samples
 *	read_markers.c	schemas, and a thread's markers
 *	read_counters.c	counters
 *	read_overhead.c	what recording took
 *	views.c		merges views into their threads
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_INTERNAL_H
#define PROF_LIB_FORMAT_FIREFOX_READ_INTERNAL_H

#include "lib/format/firefox/read/cells.h"
#include "lib/format/format.h"

struct sample_list {
	VEC(struct sample) rows;
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
	source_file_id *sources; /* by row of sources */
	uint32_t cpu_time_unit; /* unit of threadCPUDelta in ns; 0: not a unit of time */
	VEC(uint32_t) row_fields; /* by schema; bit n: values of field n are rows of stringArray */
	VEC(char *) events; /* names, owned; event n is row n - 1 */
	VEC(struct cpu_view) cpus;
};

/* Reads a string as json_cursor_text() does and interns it. */
string_id import_string(struct import *r, struct json_cursor *s);
/* Reads milliseconds as ns; 0 for negative values and values that are not numbers. */
uint64_t import_time(struct json_cursor *s);
/*
 * Reads an integer. Cuts off a fraction, and gives 0 for values that are not numbers; returns false
 * in both cases.
 */
bool import_integer(struct json_cursor *s, int64_t *number);

/* Sum of milliseconds without rounding errors. */
struct import_clock {
	int64_t ns;
	int32_t ps;
};

/*
 * Adds the number at the cursor and returns the sum in ns. Times before the start of the file
 * become its start.
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
/* read_extra.c: meta.extra, except entries that the writer counts itself. */
void import_extra(struct import *r);
/* read_tables.c */
int import_tables(struct import *r, struct error *err);
/* old_waits.c: call it when frames and functions are read. */
void import_join_waits(struct import *r);
/* read_threads.c */
int import_threads(struct import *r, struct error *err);
/*
 * read_samples.c: reads the object at the cursor; replaces the contents of `samples`. Leaves out
 * rows that stand for nothing.
 */
int import_samples(struct import *r, struct json_cursor *s, struct sample_list *samples,
		   struct error *err);
/* read_markers.c: the schemas, and a thread's table of markers. */
void import_schemas(struct import *r);
int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err);
/* read_counters.c: call it after the threads are read. */
int import_counters(struct import *r, struct error *err);
/* read_overhead.c: what it does not know is left out. */
void import_overhead(struct import *r);
/* views.c: returns the number of an event by its name; 0: too many events. */
uint8_t import_event(struct import *r, const char *name);
/* Adds the samples of an event to those of their thread. */
void import_add_event(struct import *r, struct profile_thread *thread,
		      const struct sample_list *samples, uint8_t event);
/* Sets the CPUs of samples. Call once, at the end. */
void import_apply_cpus(struct import *r);

#endif

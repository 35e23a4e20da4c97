/* SPDX-License-Identifier: MIT */
/*
 * Between the files that read a processed profile into a struct profile, and for nobody else. Ids
 * of the profile are rows of the file, but for those of strings and source files.
 *
 *	layout.h	where its parts are
 *	table.h		one table of them
 *	cells.h		the columns that tell what frames are
 *	read.c		the whole
 *	read_meta.c	what meta says
 *	read_extra.c	its further entries
 *	read_tables.c	the shared tables
 *	read_threads.c	threads, and the rows that are views of them
 *	read_samples.c	the samples of one
 *	read_markers.c	its markers
 *	read_counters.c	quantities over time
 *	views.c		views folded back into their threads
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_INTERNAL_H
#define PROF_LIB_FORMAT_FIREFOX_READ_INTERNAL_H

#include "lib/format/firefox/read/cells.h"
#include "lib/format/format.h"

struct sample_list {
	VEC(struct sample) rows;
};

/* The clock's samples on a CPU, each of which a thread has, too. */
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
	uint32_t cpu_time_unit; /* of threadCPUDelta, in ns; 0: none of time */
	VEC(uint32_t) row_fields; /* by schema: bit n: values of field n are rows of stringArray */
	VEC(char *) events; /* names, owned; event n is row n - 1 */
	VEC(struct cpu_view) cpus;
};

/* Reads a string as json_cursor_text() does, as one of the profile's strings. */
string_id import_string(struct import *r, struct json_cursor *s);
/* Milliseconds as ns; below 0, and what is no number, 0. */
uint64_t import_time(struct json_cursor *s);
/* 0 where it is no number. False: it is none, or no whole one, which is cut off. */
bool import_integer(struct json_cursor *s, int64_t *number);

/* Milliseconds that add up without rounding. */
struct import_clock {
	int64_t ns;
	int32_t ps;
};

/* Adds the number at the cursor; the sum in ns. A time before the start of the file is its start.
 */
uint64_t import_clock_add(struct import_clock *clock, struct json_cursor *s);
/*
 * "123", 123, and "123.1" for the second that has the number, of which `again` is 1. One that is
 * no number is one that no number is.
 */
uint32_t import_id(struct import *r, struct json_cursor *s, uint32_t *again);
/* Does a value say anything? It is skipped. */
bool import_skip(struct json_cursor *s);

/* read_meta.c */
int import_meta(struct import *r, struct error *err);
/* read_extra.c: meta.extra, but for what the writer counts itself. */
void import_extra(struct import *r);
/* read_tables.c */
int import_tables(struct import *r, struct error *err);
/* read_threads.c */
int import_threads(struct import *r, struct error *err);
/*
 * read_samples.c: the object at the cursor in place of what `samples` held. Rows that stand for
 * nothing are left out.
 */
int import_samples(struct import *r, struct json_cursor *s, struct sample_list *samples,
		   struct error *err);
/* read_markers.c: schemas, and the table of a thread's markers. */
void import_schemas(struct import *r);
int import_markers(struct import *r, struct span table, struct profile_thread *thread,
		   struct error *err);
/* read_counters.c: after the threads. */
int import_counters(struct import *r, struct error *err);
/* views.c: the number of an event by its name; 0: there are too many. */
uint8_t import_event(struct import *r, const char *name);
/* Adds the samples of an event to those of their thread. */
void import_add_event(struct import *r, struct profile_thread *thread,
		      const struct sample_list *samples, uint8_t event);
/* Tells samples which CPU they were taken on. Once, in the end. */
void import_apply_cpus(struct import *r);

#endif

/* SPDX-License-Identifier: MIT */
/* A processed profile as a struct profile. */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_READ_H
#define PROF_LIB_FORMAT_FIREFOX_READ_READ_H

#include "lib/format/format.h"

/*
 * As struct format has it. Versions 60 to 70, of any writer. Rows of events that prof made of a
 * thread's samples become part of them again, those of CPUs tell where each was taken.
 *
 * Reads all that prof writes, but for these:
 *	stacks as fields of markers	are texts in the file, and stay texts
 *	counters of the machine		become counters of the first process, whose row they had
 *	several threads of one tid	are all of that tid
 *
 * Counts these parts of other writers' files in `counts` and does not keep them:
 *	markers		halves of intervals; those without a schema in the file
 *	their fields	lists, tables, flows, times in other units, values of another type
 *	samples		event delays, arguments; allocations; weights that are no counts
 *	frames		column, innerWindowID, originalLocation
 *	counters	changes ("number"), fractions; those of processes without a thread
 *	libs		build ids of which only the start is known, as a breakpadId has it
 *	other parts	of the file, of meta, of threads, and of schemas
 *
 * Nor is this kept, and nothing counts it: formats of fields that are texts or numbers alike (url,
 * file-path, pid, …), tooltips and places of counters, types of processes, relevantForJS, hosts and
 * originalLocation of functions, ids and source maps of source files.
 */
int firefox_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		 struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Reads a processed profile as a struct profile. */
#pragma once

#include "lib/format/format.h"

/*
 * Implements read() of struct format for versions up to 75 of any writer. Rows of events that prof
 * derived from a thread's samples are merged back into them; rows of CPUs determine each sample's
 * CPU.
 *
 * Reads everything that prof writes, with these exceptions:
 *	stacks as fields of markers	remain text as in the file
 *	counters of the machine		are assigned to the first process, as in the file
 *	threads with equal tids		all keep that tid
 *
 * Counts these parts of other writers' files in `counts` and drops them:
 *	markers		of more kinds than a profile can have
 *	fields		lists, tables, flows, times in other units, values of another type
 *	samples		event delays, arguments; allocations; weights that are neither counts nor
 *			whole intervals
 *	frames		column, innerWindowID, originalLocation
 *	counters	changes ("number"), fractions; counters of processes without a thread
 *	libs		build ids known only in part, from a breakpadId
 *	other parts	of the file, of meta, of threads, and of schemas
 *
 * Drops these without counting them: formats of fields that are all text or all numbers (url,
 * file-path, pid, …), tooltips and positions of counters, types of processes, relevantForJS, hosts
 * and originalLocation of functions, ids and source maps of source files.
 */
int firefox_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		 struct error *err);

/*
 * True if all threads of the processed profile share one set of tables, as patches require. Fast if
 * meta comes first.
 */
bool firefox_is_current(const char *text, size_t size);

/* Reads a Gecko profile as a struct profile. */

/* Implement struct format for versions 3 and newer. */
bool gecko_matches(const char *text, size_t size);
/* Drops and counts the same parts as firefox_read(), and the JavaScript tracer with its values. */
int gecko_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);

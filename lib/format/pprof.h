/* SPDX-License-Identifier: MIT */
/* Tables of pprof's messages, shared by readers and writers. */
#pragma once

#include <regex.h>

#include "lib/base/outfile.h"
#include "lib/format/format.h"
#include "lib/model/tables/profile.h"

/*
 * Locations of pprof and OTLP: a code location with all functions inlined there, instead of a frame
 * for each.
 */

struct location_table {
	/* A row for each location: its innermost function, the others after it. */
	struct stacks chains;
	stack_id *of_stacks; /* by stack_id: the row of chains */
	stack_id *callers; /* by stack_id: the stack of the next location, or NO_STACK */
};

/*
 * `is_left_out`, by frame_id: frames that are not written unless they are outermost; their weight
 * goes to their callers. NULL: none.
 */
void location_table_init(struct location_table *t, const struct profile *p,
			 const bool *is_left_out);
void location_table_release(struct location_table *t);

/* A mapping, and the parts that some of its locations lack. */
struct pprof_mapping_row {
	module_id module;
	const struct module_segment *segment; /* NULL: all of the module */
	uint64_t limit; /* end of its addresses, without a segment */
	bool lacks_functions, lacks_files, lacks_lines;
};

/*
 * Tables of a pprof message that its samples refer to: locations, functions, mappings and strings.
 * Only used rows are written, numbered from 1 without gaps, as some readers require.
 */

struct pprof_tables {
	const struct profile *profile;
	const struct location_table *locations;
	struct outfile *out;
	struct strings strings; /* string table; row 0 is "" */
	/* Code without a name gets its address as one: for readers that omit it otherwise. */
	bool names_addresses;
	struct stacks made_up; /* function names made from addresses */
	/*
	 * Numbers by rows of chains and ids of the profile; 0: unused. Of a module, that of its
	 * first mapping.
	 */
	uint32_t *of_locations, *of_functions, *of_modules;
	uint32_t function_count;
	VEC(struct pprof_mapping_row) mappings; /* by number - 1; those of a module together */
	struct strbuf message, inner, head; /* messages under construction */
	uint64_t size; /* bytes written so far */
};

/* Borrows all arguments. */
void pprof_tables_init(struct pprof_tables *t, const struct profile *p,
		       const struct location_table *locations, struct outfile *out);
void pprof_tables_release(struct pprof_tables *t);
/* Writes t->message as an element of the profile, and empties it. */
void pprof_tables_emit(struct pprof_tables *t, uint32_t field);
void pprof_tables_value_type(struct pprof_tables *t, uint32_t field, const char *type,
			     const char *unit);
/*
 * Sets the stacks of samples, by stack_id; modifies is_used. Call once, before the functions below.
 */
void pprof_tables_use(struct pprof_tables *t, bool *is_used);
/* Appends a stack's locations, innermost first. */
void pprof_tables_stack(const struct pprof_tables *t, stack_id stack, struct strbuf *out);
/* Writes everything but the strings, ... */
void pprof_tables_write(struct pprof_tables *t);
/* ... the time of the recording, `comment` unless NULL, and the strings. */
void pprof_tables_end(struct pprof_tables *t, const char *comment, bool has_clock);

/* Writes the samples of all threads; `is_left_out` as above. */
int pprof_write_without(const struct profile *p, const bool *is_left_out, struct outfile *out,
			struct error *err);

/*
 * Returns, by frame_id, whether the function is a wrapper through which Go's compiler calls
 * another: a method via an interface, or the call in a "go" or "defer" statement. Go's own profiler
 * leaves them out, and its compiler would mistake the wrapper for the callee or the caller. The
 * caller frees the array.
 */
bool *pgo_find_wrappers(const struct profile *p);

/*
 * Implement struct format. Each sample type becomes an event; counts of samples become clock ticks
 * if a time type is their multiple. Labels that are ids or names make threads, others make markers.
 * Negative values, as in differences, count as unread.
 */
bool pprof_matches(const char *text, size_t size);
int pprof_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);

/* Frames that a pprof file requests to be dropped, by the names of their functions. */

struct pprof_drop {
	regex_t drop, keep;
	bool has_keep;
	uint8_t *known; /* by func_id: 1 plus whether its frames are dropped; 0: not known yet */
};

/*
 * Compiles the expressions, "" for none; those not understood are added to *unread. Returns false,
 * with nothing to release, if no frame is to be dropped. The functions of `p` are complete.
 */
bool pprof_drop_init(struct pprof_drop *d, const struct profile *p, const char *drop,
		     const char *keep, uint64_t *unread);
bool pprof_drop_is(struct pprof_drop *d, const struct profile *p, frame_id id);
void pprof_drop_release(struct pprof_drop *d);

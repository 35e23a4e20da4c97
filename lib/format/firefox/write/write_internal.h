/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Private to this room. The file has only used rows, in its own order: the tables here hold them
 * and map the profile's ids to positions in the file. A "position" is always an index into a table
 * of the file.
 *
 *	firefox_write.c		the whole file, in its order; rows and counters, streamed
 *	write_meta.c		meta, built as a tree; the row of a difference and its samples
 *	write_tables.c		strings, frames, functions, symbols and modules, which the file calls
 *				libs: collects used ones, assigns positions, streams them
 *	write_samples.c		the samples of a row, with gaps where it did not run, and allocations
 *	write_markers.c		the markers of a row, by their schemas
 */
/* clang-format on */
#pragma once

#include "lib/base/json/writer.h"
#include "lib/format/firefox/breakpad_id.h"
#include "lib/format/firefox/version.h"
#include "lib/format/format.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/marker_completion.h"
#include "lib/model/meaning/thread_rows.h"
#include "lib/model/tables/profile.h"

#define NO_POSITION UINT32_MAX
#define NO_LIB (-1)
#define NO_ADDRESS (-1)

/* Strings are valid UTF-8: see firefox_clean(). */
struct firefox_lib {
	module_id module;
	string_id name; /* name without slashes */
	string_id path;
	char breakpad_id[BREAKPAD_ID_SIZE + 1]; /* unique together with the name */
};

/* A frame of the file, indexed by frame_id. Frames of cpu_stacks follow. */
struct firefox_frame {
	int32_t lib, address; /* both are known, or neither */
	uint32_t func, symbol; /* symbol: NO_POSITION if unknown */
	uint32_t line; /* 0: unknown */
	struct frame_category category;
	uint8_t inline_depth;
};

struct firefox_func {
	uint32_t name; /* position in `strings` */
	int32_t resource; /* position of the lib: each lib is one resource */
	uint32_t source; /* NO_POSITION: unknown */
	uint32_t line, column; /* 0: unknown */
	bool is_js;
};

struct firefox_symbol {
	int32_t lib, address;
	uint32_t name; /* position in `strings` */
	uint64_t size; /* 0: unknown */
};

struct firefox_category {
	string_id name;
	uint32_t position;
};

struct firefox_source {
	uint32_t path; /* position in `strings` */
	source_file_id file; /* file that provides the text */
};

/* Samples of one row. A weight of 0 marks a time without samples. */
struct firefox_samples {
	struct samples rows; /* time 0 is the start of the file */
	struct sample last; /* of `rows` */
	size_t gap_rows; /* rows that only mark times when the thread did not run */
	bool has_weights; /* false: every weight is 1 */
	uint64_t cpu_ns; /* CPU time of a row that represents several threads; 0: sum of its rows */
	struct long_tasks tasks; /* long tasks of the row's thread; times as in `rows` */
};

/*
 * Stacks of the rows of CPUs: threads' stacks below the name of the program as outermost frame, so
 * that a CPU's flame graph separates programs. They follow the profile's stacks.
 */
struct cpu_stack {
	uint32_t frame, parent; /* positions in the file; parent NO_STACK: a root */
	/* The source of the stack. */
	string_id program;
	stack_id stack; /* NO_STACK: only the frame of the program */
};

struct cpu_stacks {
	VEC(struct cpu_stack) rows;
	struct index index;
	VEC(string_id) programs; /* programs whose frames follow the frames of the profile */
};

struct firefox {
	const struct profile *profile;
	struct string_overlay texts; /* the profile's strings, then strings of the file only */
	struct thread_rows rows;
	/* By event: the largest weight of a row within an interval. 0 for the clock. */
	uint64_t event_peaks[EVENT_COUNTS_MAX];
	uint8_t category_positions[UINT8_MAX]; /* by row of `categories`, or of the profile's */
	bool has_category[CATEGORY_COUNT]; /* categories used, or required by the format */
	/* Appended after them: categories that only markers use. */
	VEC(struct firefox_category) marker_categories;
	struct export_counts *counts;
	const struct export_difference *difference; /* NULL: not a difference */
	bool has_flags; /* version 75, in which flags state which cells have a value */

	VEC(string_id) strings;
	VEC(uint32_t) string_positions; /* position by string_id */

	VEC(struct firefox_lib) libs;
	struct index lib_index;
	int32_t *module_libs; /* lib by module_id; NO_LIB: not used so far */

	VEC(struct firefox_frame) frames;
	struct cpu_stacks cpu_stacks; /* stacks that follow the profile's own */

	VEC(struct firefox_func) funcs;
	struct index func_index;
	uint32_t *func_positions; /* position by func_id */

	VEC(struct firefox_symbol) symbols;
	struct index symbol_index;
	uint32_t *symbol_positions; /* position by symbol_id */

	VEC(struct firefox_source) sources;
	struct index source_index;
};

/* Converts to valid UTF-8. Two different strings may become equal. */
string_id firefox_clean(struct firefox *f, string_id id);
/* Returns the position of the clean text among the file's strings, and marks it as used. */
uint32_t firefox_string(struct firefox *f, string_id id);
/* Collects everything that frames use. */
void firefox_tables_init(struct firefox *f);
void firefox_tables_release(struct firefox *f);

/* Returns the position of the module's lib, added if new. */
int32_t firefox_lib(struct firefox *f, module_id module);

/* Returns the position of the stack in the file, added if new. */
uint32_t cpu_stacks_intern(struct cpu_stacks *c, const struct profile *p, string_id program,
			   stack_id stack);
void cpu_stacks_release(struct cpu_stacks *c);

/* Call before the first firefox_samples_fill(). */
void firefox_find_peaks(struct firefox *f);
/* Replaces the contents of `out` by the samples of a row. A zeroed struct is empty. */
void firefox_samples_fill(const struct firefox *f, const struct thread_row *row,
			  struct firefox_samples *out);
void firefox_samples_release(struct firefox_samples *s);

/* Writes "samples" of the row of a difference. */
void firefox_write_difference(const struct firefox *f, struct jsonw *w);

/* Parts of meta in both formats: "sampleUnits"; the operating system and the CPUs; "display". */
void firefox_write_units(struct jsonw *w);
void firefox_write_machine(struct jsonw *w, const struct profile_meta *meta);
void firefox_write_places(struct jsonw *w, uint32_t shown);
/* Begins "categories" with those of the profile, or the used ones of `categories`; NULL: all. */
void firefox_begin_categories(struct jsonw *w, const struct profile *p, const bool *are_used);
/* Names of the formats of fields. Stacks are written as text. */
extern const char *const firefox_field_formats[FIELD_TYPE_COUNT];
/* Writes a number of a marker. Times are since `start`, or 0 before it. */
void firefox_write_number(struct jsonw *w, const struct marker_value *value, uint64_t start);

/* Writes the values of "meta" and "libs". */
void firefox_write_meta(struct firefox *f, struct jsonw *w);
void firefox_write_libs(struct firefox *f, struct jsonw *w);
/* Writes the value of "shared". */
void firefox_write_shared(struct firefox *f, struct jsonw *w);

#define FIREFOX_ID_SIZE 40
/* Formats the pid of a row, which is unique to its process. */
void firefox_format_pid(char text[FIREFOX_ID_SIZE], const struct thread_row *row);

/* Writes "profilerOverhead". */
void firefox_write_overhead(const struct firefox *f, struct jsonw *w);

/* Marks categories named by markers as used. Call before positions of categories are assigned. */
void firefox_use_marker_categories(struct firefox *f);

/* The markers of a row: those of a thread, or those in the buffer. A zeroed struct is empty. */
struct marker_list {
	const struct marker *items;
	size_t count;
	VEC(struct marker) own;
};

/* True for network markers: front-ends have their fields built in, as plain texts. */
bool firefox_schema_is_network(const struct firefox *f, const struct schema *schema);
/* Writes "nativeAllocations" of a row that has allocations. */
void firefox_write_allocations(const struct firefox *f, struct jsonw *w,
			       const struct thread_row *row);
/* Writes "markers" of a row. */
void firefox_write_markers(struct firefox *f, struct jsonw *w, const struct thread_row *row,
			   struct marker_list *list);

/* Nominal time between samples, ns; never 0. */
static inline uint64_t firefox_interval(const struct firefox *f)
{
	uint64_t interval = f->profile->meta.interval_ns;

	return interval ? interval : 1000000;
}

/* Converts to a time in the file. */
static inline uint64_t firefox_time(const struct firefox *f, uint64_t ns)
{
	return profile_since_start(f->profile, ns);
}

static inline char *firefox_format_position(char *at, uint32_t position)
{
	return position == NO_POSITION ? jsonw_format_null(at) : jsonw_format_u64(at, position);
}

/*
 * Writes a time as the difference from `before`, which becomes it: in whole nanoseconds, so that
 * rounding errors do not add up.
 */
static inline char *firefox_format_delta(char *at, uint64_t time, uint64_t *before)
{
	uint64_t delta = time - *before;

	*before = time;
	return jsonw_format_ms(at, delta);
}

/*
 * Writes a column: in each turn of the loop `each`, `format` writes a value to `at` and returns its
 * end.
 */
#define FIREFOX_COLUMN_OF(w, key, each, at, format) \
	do { \
		char *at = jsonw_column_begin(w, key); \
		each \
		{ \
			at = jsonw_column_room(w, at); \
			at = jsonw_column_next(format); \
		} \
		jsonw_column_end(w, at); \
	} while (0)

#define FIREFOX_COLUMN(w, key, rows, type, row, at, format) \
	FIREFOX_COLUMN_OF(w, key, vec_for_each(rows, const type *, row), at, format)

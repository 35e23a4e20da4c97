/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Between the files of the Firefox format, and for nobody else. What a file needs only the rows
 * that are used, in an order of its own: the tables here hold them, and map the profile's ids to
 * positions in the file. "Position" is always an index into a table of the file.
 *
 *	write.c		the whole, in the order of the file
 *	tables.c	strings, frames, functions, symbols: which are used, and where they go
 *	libs.c		likewise modules, which the file calls libs
 *	meta.c		meta and libs, as trees
 *	shared.c	the shared tables, streamed
 *	firefox_rows.h	the threads that the file has: those of the profile, and views of them
 *	fold.h		fewer rows of threads
 *	titles.h	what rows are called
 *	threads.c	rows with their samples, streamed
 *	markers.c	the markers of a row, by their schemas
 *	counters.c	quantities over time, streamed
 *	samples.c	the samples of a row, with others where it did not run
 */
/* clang-format on */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_INTERNAL_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_INTERNAL_H

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/format/firefox/breakpad_id.h"
#include "lib/format/firefox/write/firefox_rows.h"
#include "lib/format/firefox/write/file_strings.h"
#include "lib/format/firefox/version.h"
#include "lib/format/format.h"
#include "lib/json/writer.h"
#include "lib/profile/categories.h"
#include "lib/profile/profile.h"

#define NO_POSITION UINT32_MAX
#define NO_LIB (-1)
#define NO_ADDRESS (-1)

/* Strings here are clean ones: see firefox_clean(). */
struct firefox_lib {
	module_id module;
	string_id name; /* without a slash */
	string_id path;
	char breakpad_id[BREAKPAD_ID_SIZE + 1]; /* with the name it is unique */
};

/* By frame_id. */
struct firefox_frame {
	int32_t lib, address; /* both known or both not */
	uint32_t func, symbol; /* symbol may be NO_POSITION */
	struct frame_category category;
};

struct firefox_func {
	uint32_t name; /* in strings */
	int32_t resource; /* a lib's position: each lib is one resource */
	uint32_t source; /* or NO_POSITION */
	uint32_t line, column; /* 0: unknown */
	bool is_js;
};

struct firefox_symbol {
	int32_t lib, address;
	uint32_t name; /* in strings */
	uint64_t size; /* 0: unknown */
};

struct firefox_category {
	string_id name;
	uint32_t position;
};

struct firefox_source {
	uint32_t path; /* in strings */
	source_file_id file; /* whose text it has */
};

/* Of one row. A sample with a weight of 0 stands for nothing. */
struct firefox_samples {
	struct sample_buffer buffer;
	VEC(struct sample) rows; /* times count from the start of the file, ascending */
	size_t gap_rows; /* among them: where the thread did not run */
	bool has_weights; /* otherwise all rows weigh the same */
};

struct firefox {
	const struct profile *profile;
	struct file_strings file_strings;
	struct firefox_rows rows;
	/* By event: the most that a row has of it within an interval. 0 is the clock's, and 0. */
	uint64_t event_peaks[EVENT_COUNTS_MAX];
	uint8_t category_positions[UINT8_MAX]; /* of `categories` or of the profile's own */
	bool has_category[CATEGORY_COUNT]; /* used by a frame, or needed by the format */
	VEC(struct firefox_category) marker_categories; /* behind them: those of markers alone */
	struct export_counts *counts;

	VEC(string_id) strings;
	VEC(uint32_t) string_positions; /* by string_id */

	VEC(struct firefox_lib) libs;
	struct index lib_index;
	int32_t *module_libs; /* by module_id; NO_LIB while unused */

	VEC(struct firefox_frame) frames;

	VEC(struct firefox_func) funcs;
	struct index func_index;
	uint32_t *func_positions; /* by func_id */

	VEC(struct firefox_symbol) symbols;
	struct index symbol_index;
	uint32_t *symbol_positions; /* by symbol_id */

	VEC(struct firefox_source) sources;
	struct index source_index;
};

/* The same text in valid UTF-8; two different strings may become one. */
string_id firefox_clean(struct firefox *f, string_id id);
/* Position of the (clean) text among the strings of the file; from now on it is used. */
uint32_t firefox_string(struct firefox *f, string_id id);
uint32_t firefox_string_of(struct firefox *f, const char *text);
/* Finds all that is used by frames. */
void firefox_tables_init(struct firefox *f);
void firefox_tables_release(struct firefox *f);

/* Position of the module's lib, which is listed from now on. */
int32_t firefox_lib(struct firefox *f, module_id module);

/* Before the first firefox_samples_fill(). */
void firefox_find_peaks(struct firefox *f);
/* The samples of a row, in place of what `out` held; a zeroed one is empty. */
void firefox_samples_fill(const struct firefox *f, const struct firefox_row *row,
			  struct firefox_samples *out);
void firefox_samples_release(struct firefox_samples *s);

/* Values of the keys "meta" and "libs". */
void firefox_write_meta(struct firefox *f, struct jsonw *w);
void firefox_write_libs(struct firefox *f, struct jsonw *w);
/* Value of "threads". Markers may still use strings, so shared comes after it. */
void firefox_write_threads(struct firefox *f, struct jsonw *w);
/* Value of "shared". */
void firefox_write_shared(struct firefox *f, struct jsonw *w);

#define FIREFOX_ID_SIZE 40
/* The pid of a row as the file has it: unlike that of any other process. */
void firefox_format_pid(char text[FIREFOX_ID_SIZE], const struct firefox_row *row);

/* Key "counters" of the file. */
void firefox_write_counters(const struct firefox *f, struct jsonw *w);

/* A column of one value. */
void firefox_write_same(struct jsonw *w, const char *key, size_t count, uint64_t value);

/* Before positions of categories are known: those that markers name occur in the file. */
void firefox_use_marker_categories(struct firefox *f);

/* Markers of a row being put together; a zeroed one is empty. */
struct marker_list {
	VEC(struct marker) markers;
};

/* Key "markers" of a row. */
void firefox_write_markers(struct firefox *f, struct jsonw *w, const struct firefox_row *row,
			   struct marker_list *list);

/* Nominal time between two samples, ns; never 0. */
static inline uint64_t firefox_interval(const struct firefox *f)
{
	uint64_t interval = f->profile->meta.interval_ns;

	return interval ? interval : 1000000;
}

/* Time in the file: ns since its start. What was earlier is at the start. */
static inline uint64_t firefox_time(const struct firefox *f, uint64_t ns)
{
	uint64_t start = f->profile->meta.start_ns;

	return ns > start ? ns - start : 0;
}

static inline char *firefox_format_position(char *at, uint32_t position)
{
	return position == NO_POSITION ? jsonw_format_null(at) : jsonw_format_u64(at, position);
}

/* A column: `format` gives the end of what it writes at `at` for `row`, each row of `rows`. */
#define FIREFOX_COLUMN(w, key, rows, type, row, at, format) \
	do { \
		char *at = jsonw_column_begin(w, key); \
		vec_for_each(rows, const type *, row) { \
			at = jsonw_column_room(w, at); \
			at = jsonw_column_next(format); \
		} \
		jsonw_column_end(w, at); \
	} while (0)

#endif

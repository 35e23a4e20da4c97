/* SPDX-License-Identifier: MIT */
/*
 * The formats that a profile can be read from and written in. A format is one file and one row of
 * FORMATS: all else finds it by its name, by that of a file, or by what a file holds.
 */
#ifndef PROF_LIB_FORMAT_FORMAT_H
#define PROF_LIB_FORMAT_FORMAT_H

#include "lib/base/error.h"
#include "lib/base/outfile.h"
#include "lib/base/strbuf.h"
#include "lib/profile/profile.h"

struct export_options {
	bool all_threads; /* none shares its row with others, however many there are */
	bool cpus; /* each CPU has a row with the samples of the clock that were taken there */
};

/* Counts of a file. The caller sets the profile's; a format changes what it writes otherwise.
 */
struct export_counts {
	size_t threads; /* entries, those of other events with them, those of CPUs without */
	size_t processes;
	size_t folded_threads,
		folded_rows; /* threads without an entry of their own; what they share */
	uint64_t gap_rows; /* of samples: they only say that a thread did not run */
};

/* Parts of a file that a profile has no place for. */
enum unread {
	UNREAD_MARKERS,
	UNREAD_COUNTERS, /* of processes without threads, or too many */
	UNREAD_COUNTER_VALUES, /* fractions, numbers of changes */
	UNREAD_ALLOCATIONS, /* samples of those */
	UNREAD_SAMPLES, /* of more events than a profile can have */
	UNREAD_WEIGHTS, /* that are no counts */
	UNREAD_CPU_TIMES, /* in another unit than time */
	UNREAD_SAMPLE_VALUES, /* delays, arguments */
	UNREAD_FRAME_VALUES, /* columns in source files, windows, places before compilation */
	UNREAD_BUILD_IDS, /* of which only the start is known */
	UNREAD_SOURCES, /* of a name that another one has, too */
	UNREAD_MEMBERS, /* whole parts that are not known, or known to be of no use */
	UNREAD_KIND_COUNT,
};

/* "markers", … */
extern const char *const unread_names[UNREAD_KIND_COUNT];

struct import_counts {
	uint64_t gap_rows; /* as in struct export_counts; a profile has none */
	uint64_t unread[UNREAD_KIND_COUNT];
};

struct format {
	const char *name; /* as --format takes it */
	/* How names of such files end, without ".gz"; NULL-terminated. Such a file is plain. */
	const char *const *suffixes;
	bool is_plain; /* also under all other names but those that end in ".gz" */
	/*
	 * May this be the text of such a file? Cheap: reading it tells for sure. NULL: nothing
	 * reads such files.
	 */
	bool (*matches)(const char *text, size_t size);
	/*
	 * A new profile, to be freed, of a text that matches(), which is untrusted: memory is
	 * bounded by a multiple of its size. -EBADMSG where it is damaged, -ENOTSUP where it is of
	 * a version that is not understood. Rows are those of the file, which interning does not
	 * find. `counts` may be NULL. NULL: it can only be written.
	 */
	int (*read)(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		    struct error *err);
	/*
	 * Streams the profile; write failures stay in `out` for outfile_commit(). `options` and
	 * `counts` may be NULL. NULL: it can only be read.
	 */
	int (*write)(const struct profile *p, const struct export_options *options,
		     struct outfile *out, struct export_counts *counts, struct error *err);
};

/*
 * All formats, in the order in which they are asked about a content. The row NAME is the variable
 * format_NAME of that format's own file.
 */
#define FORMATS(ROW) ROW(firefox) ROW(folded)

#define FORMAT_DECLARE(name) extern const struct format format_##name;
FORMATS(FORMAT_DECLARE)
#undef FORMAT_DECLARE

/* The format to write if no other is asked for. */
#define FORMAT_DEFAULT (&format_firefox)

/* The one of that name that can be written, or NULL. */
const struct format *format_find(const char *name);
/* Likewise by the end of a file's name. */
const struct format *format_of_path(const char *path);
/* By content, whether it can be written or not; NULL where it is that of none. */
const struct format *format_of_text(const char *text, size_t size);
/* Is a file of that name compressed? "-": standard output. */
bool format_is_compressed(const struct format *format, const char *path);
/* Appends the names of all that can be written: "firefox, …". */
void format_list(struct strbuf *names);

#endif

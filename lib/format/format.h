/* SPDX-License-Identifier: MIT */
/*
 * Formats for reading and writing profiles. A format is one file and one row of FORMATS. It is
 * found by its name, a file's name, or content.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/base/outfile.h"
#include "lib/model/tables/profile.h"

/* Samples of `thread` have weight `weight`; those of `base` are subtracted. */
struct export_difference {
	thread_id base, thread;
	uint32_t base_weight, weight;
	/* html: the result of the comparison, as text and as JSON; NULL: none. */
	const char *text, *json;
};

struct export_options {
	const struct profile *base; /* flame graphs: profile to compare with; NULL: none */
	/*
	 * firefox: adds a row of one thread's excess over another. html: compares the threads.
	 * NULL: none.
	 */
	const struct export_difference *difference;
	const char *assembly; /* html: JSON of assembly_print_json(); NULL: none */
	bool is_served; /* html: the page is served by a server with prof view's interface */
	bool is_newest; /* firefox, jslb: in the newest version that is known */
	bool all_threads; /* every thread gets its own row, without a limit */
	bool cpus; /* every CPU gets a row of clock samples */
};

/*
 * Counts of a file's contents. The caller sets the profile's; a format changes them if the file
 * differs.
 */
struct export_counts {
	size_t threads; /* entries for threads and their other events, but not for CPUs */
	size_t processes;
	/* Threads without their own entry, and entries they share. */
	size_t folded_threads, folded_rows;
	uint64_t gap_rows; /* samples that only mark times when a thread did not run */
};

/* Parts of a file that a profile cannot represent. */
enum unread {
	UNREAD_MARKERS,
	UNREAD_COUNTERS, /* counters of processes without threads, or too many counters */
	UNREAD_COUNTER_VALUES, /* fractions, and numbers of changes */
	UNREAD_ALLOCATIONS, /* samples with allocations */
	UNREAD_SAMPLES, /* samples of more events than a profile can have */
	UNREAD_WEIGHTS, /* weights that are neither counts nor whole intervals */
	UNREAD_CPU_TIMES, /* CPU times in units other than time */
	UNREAD_SAMPLE_VALUES, /* delays and arguments */
	UNREAD_FRAME_VALUES, /* columns, windows, and positions before compilation */
	UNREAD_BUILD_IDS, /* incomplete build ids */
	UNREAD_SOURCES, /* one of several files with the same name */
	UNREAD_MEMBERS, /* unknown or useless members */
	UNREAD_KIND_COUNT,
};

/* "markers", … */
extern const char *const unread_names[UNREAD_KIND_COUNT];

struct import_counts {
	uint64_t gap_rows; /* dropped rows, otherwise as in struct export_counts */
	uint64_t unread[UNREAD_KIND_COUNT];
};

struct format {
	const char *name; /* name for --format */
	/* Endings of file names without ".gz", NULL-terminated. Such files are plain. */
	const char *const *suffixes;
	bool is_flame_graph; /* can colour the difference from another profile */
	bool has_comparison; /* can hold the samples of two sides, as written by prof diff */
	bool is_timeline; /* shows sample times, so waits are useful */
	bool is_asked_last; /* its content check comes last, because others are more specific */
	bool has_linker_names; /* names of functions may be mangled */
	bool is_plain; /* not compressed, whatever the name, unless the name ends in ".gz" */
	/*
	 * Fast check whether the text may be such a file; only reading is certain. NULL: cannot be
	 * read.
	 */
	bool (*matches)(const char *text, size_t size);
	/*
	 * Makes a new profile, owned by the caller, from text that matches(). The text is
	 * untrusted: memory is bounded by a multiple of its size. Returns -EBADMSG if damaged,
	 * -ENOTSUP for an unknown version. Rows are those of the file and are not interned.
	 * `counts` may be NULL. NULL: cannot be read.
	 */
	int (*read)(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		    struct error *err);
	/*
	 * Does the same for a file of that size, piece by piece: `matches` looks at its first
	 * bytes. NULL: only texts in memory can be read.
	 */
	int (*read_file)(struct profile **p, int fd, uint64_t size, struct import_counts *counts,
			 struct error *err);
	/*
	 * Streams the profile. Write failures stay in `out` for outfile_commit(). `options` and
	 * `counts` may be NULL. NULL: cannot be written.
	 */
	int (*write)(const struct profile *p, const struct export_options *options,
		     struct outfile *out, struct export_counts *counts, struct error *err);
};

/*
 * All formats, in the order in which they check contents. ROW(NAME) stands for the variable
 * format_NAME in that format's own file.
 */
#define FORMATS(ROW) \
	ROW(trace) \
	ROW(firefox) \
	ROW(gecko) \
	ROW(jslb) \
	ROW(speedscope) \
	ROW(jfr) \
	ROW(cpuprofile) \
	ROW(heapprofile) \
	ROW(dhat) \
	ROW(massif) \
	ROW(heaptrack) \
	ROW(callgrind) \
	ROW(gperftools) \
	ROW(otlp) \
	ROW(perf_json) \
	ROW(perf_script) \
	ROW(folded) ROW(pprof) ROW(pgo) ROW(perfetto) ROW(flamegraph) ROW(html)

#define FORMAT_DECLARE(name) extern const struct format format_##name;
FORMATS(FORMAT_DECLARE)
#undef FORMAT_DECLARE

/* The default for output. */
#define FORMAT_DEFAULT (&format_firefox)

/* Returns the writable format of that name, or NULL. */
const struct format *format_find(const char *name);
/* Returns the writable format for a file's name, or NULL. */
const struct format *format_of_path(const char *path);
/* Returns the format of a text, writable or not; NULL: unknown. */
const struct format *format_of_text(const char *text, size_t size);
/*
 * Returns a description of a file that prof does not read, and a tool that converts or shows it;
 * NULL: unknown.
 */
const char *format_unread(const char *text, size_t size);
/*
 * Returns the format that reads a file piece by piece, and sets its size; NULL: it is read as a
 * whole, or is not a regular file.
 */
const struct format *format_of_file(int fd, uint64_t *size);
/* True if a file of that name is compressed. "-" is standard output. */
bool format_is_compressed(const struct format *format, const char *path);
/* Returns the names of all writable formats, NULL-terminated. */
const char *const *format_names(void);

/* The output of a format as a file or text in memory. */

/*
 * Writes a file in memory. Returns its descriptor, which the caller closes, and sets *size; or a
 * negative errno with err.
 */
int written_file(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, bool gzip,
		 uint64_t *size, struct error *err);
/* Does the same for a text. Sets *text, NUL-terminated, which the caller frees. */
int written_text(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, char **text,
		 size_t *size, struct error *err);

/* Formats whose samples have no weights write a sample as often as it counts, within bounds. */

/* Samples by how often they are to be written: number n has those of less than 2^n, but not less
 * than half. */
struct repeats {
	uint64_t samples[65], rows[65];
	uint64_t max; /* maximum for one sample, from repeats_limit() */
	uint64_t lost; /* rows that repeats_of() left out */
};

void repeats_add(struct repeats *r, uint64_t count);
/*
 * Finds the maximum for one sample that bounds the rows of all. Call it once all samples are added.
 */
void repeats_limit(struct repeats *r);
/* Returns how often to write a sample, at least once. */
uint64_t repeats_of(struct repeats *r, uint64_t count);
/* Warns of what was left out. */
void repeats_tell(const struct repeats *r, const char *format);

/* The samples of one thread as a row of stacks without holes, for formats that have no times. */

/* A sample, or a gap before one. */
struct scope_row {
	stack_id stack;
	bool is_gap;
	uint64_t weight;
};

struct scope_rows {
	VEC(struct scope_row) list;
	uint64_t sum; /* of weights */
};

/*
 * Collects the event's samples. Those with times are placed: a row of several ticks ends with the
 * tick of its time, unless it has the time that passed from then on. The caller releases the list.
 */
void scope_rows_collect(struct scope_rows *rows, const struct profile *p,
			const struct profile_thread *thread, uint8_t event, bool has_times);

/* A flame graph of the difference between two profiles as a standalone HTML file. */

/* Behaves as write() of struct format. */
int flamegraph_write_html(const struct profile *p, const struct export_options *options,
			  struct outfile *out, struct error *err);

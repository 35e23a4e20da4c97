/* SPDX-License-Identifier: MIT */
/*
 * Reads the marker files of recorded processes, in which they report their spans (span_files.h). A
 * file `marker-PID.txt` or `marker-PID-TID.txt`, in any folder, is found when it is mapped
 * executable. A process with generated code, whose language may be unable to map files, may write
 * /tmp/marker-PID.txt instead. PID and TID are those of the process's own pid namespace. Files are
 * read as they grow, and to their end when the process execs or exits or the recording ends, even
 * if they are unlinked by then.
 */
#pragma once

#include "lib/live/code/jit_files.h"
#include "lib/live/code/line_file.h"
#include "lib/live/process/live_process.h"
#include "lib/live/process/user_budget.h"

/*
 * Lines of marker files, in which programs report their activities. Times are CLOCK_MONOTONIC ns,
 * in decimal:
 *
 *	START END NAME		an interval; the name is the rest of the line
 *	i TIME NAME		an instant
 *	b TIME ID NAME		the start of an interval; the id is any word
 *	e TIME ID		its end
 *
 * Names and ids may be followed by attributes: "@TID" the thread, "#CATEGORY", "key=value".
 */

/* Longer strings are truncated; further attributes stay in the name. */
#define SPAN_TEXT_MAX 1024
#define SPAN_ATTRIBUTES_MAX 8
#define SPAN_KEY_MAX 32

/* Borrowed, not terminated. */
struct span_text {
	const char *at;
	size_t size;
};

struct span_attribute {
	struct span_text key, value;
};

enum span_line_kind {
	SPAN_WHOLE,
	SPAN_INSTANT,
	SPAN_BEGIN,
	SPAN_END,
};

struct span_line {
	enum span_line_kind kind;
	uint64_t start, end; /* equal except for SPAN_WHOLE */
	struct span_text id; /* set for SPAN_BEGIN and SPAN_END */
	struct span_text name; /* empty for SPAN_END */
	struct span_text category;
	uint32_t tid; /* 0: not stated */
	size_t attribute_count;
	struct span_attribute attributes[SPAN_ATTRIBUTES_MAX]; /* attributes in line order */
};

/* Parses a line without its end; `out` points into it. False: malformed. */
bool span_line_parse(const char *line, size_t size, struct span_line *out);

/* Reads one marker file of a program: pairs starts with ends, and identifies threads. */

struct span {
	uint32_t pid, tid;
	uid_t uid; /* owner of its file */
	uint64_t start, end; /* CLOCK_MONOTONIC ns; equal for an instant */
	bool is_open; /* truncated at `end`, when its program ended */
	struct span_text name, category;
	size_t attribute_count;
	const struct span_attribute *attributes; /* keys are unique */
};

/* Borrows the span. */
typedef void span_fn(void *ctx, const struct span *span);

/* Receives the spans of all files, up to limits. */
struct span_sink {
	span_fn *fn;
	void *ctx;
	struct user_budget spans, bytes;
};

/* Sets the limits. Bytes are those read, so that even a sparse file ends. */
void span_sink_init(struct span_sink *sink);
void span_sink_release(struct span_sink *sink);

struct open_span {
	uint64_t id_hash;
	char *line; /* the line that began the span; owned */
	size_t size;
};

struct ns_thread {
	uint32_t inner, outer;
};

struct live_process;

struct span_file {
	struct live_process *owner; /* process with which the file ends; not used here */
	int fd;
	dev_t device;
	ino_t inode;
	uid_t uid; /* owner, whose budgets it uses */
	uint64_t size; /* file size when last read to its end */
	uint32_t pid, tid; /* thread of spans whose line names no thread */
	/* pid in the process's pid namespace; 0: it uses the recorder's namespace */
	uint32_t own_pid;
	VEC(struct ns_thread) threads;
	struct line_file lines;
	VEC(struct open_span) open; /* in order of beginning */
	uint64_t spans, malformed;
	bool is_cut;
};

/* Closes the descriptor and frees everything. Accepts NULL. */
void span_file_free(struct span_file *f);
/*
 * Reads the file to its end, or to the limit of the recording. Spans that are open end at `time`,
 * with the program.
 */
void span_file_finish(struct span_file *f, uint64_t time, struct span_sink *sink);

/* Maximum open descriptors. */
#define SPAN_FILES_DESCRIPTORS 128

struct span_files;

/* Listens to the processes. Call it before jit_files_new(), and free the processes first. */
struct span_files *span_files_new(struct live_processes *processes);
/* Accepts NULL. */
void span_files_free(struct span_files *s);
/* Sets the receiver of spans. Without one, no file is read. */
void span_files_on_span(struct span_files *s, span_fn *fn, void *ctx);
/* Processes with generated code open their files by their rows there; borrowed. */
void span_files_set_jit_files(struct span_files *s, struct jit_files *jit_files);

/* Returns whether this is the path of a marker file. The tid is 0 if the path has none. */
bool span_files_is_file(const char *path, uint32_t *pid, uint32_t *tid);
/*
 * Notes that the process has mapped a marker file named after pid and tid. `fd` is borrowed, -1:
 * none.
 */
void span_files_map(struct span_files *s, struct live_process *process, uint32_t pid, uint32_t tid,
		    int fd);
/* Notes that the process has generated code. */
void span_files_memory(struct span_files *s, struct live_process *process);
/* Reads a limited amount of the files that have grown. Call periodically. */
void span_files_poll(struct span_files *s, uint64_t now);
/* Reads everything that is left; call at the end. */
void span_files_finish(struct span_files *s, uint64_t now);

struct span_files_stats {
	uint64_t files, spans;
	uint64_t malformed; /* number of malformed lines */
	uint64_t cut; /* files that were too large, too many, or gone when opened */
};
void span_files_get_stats(const struct span_files *s, struct span_files_stats *stats);
/* Returns to the users' budgets the amounts of files read before that time. */
void span_files_forget(struct span_files *s, uint64_t before);
/* Appends the users whose spans were too many, as "user 4001"; nothing if there are none. */
void span_files_list_refused(const struct span_files *s, struct strbuf *out);

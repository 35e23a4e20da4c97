/* SPDX-License-Identifier: MIT */
/* Reads one marker file of a program: pairs beginnings with ends, and finds threads. */
#ifndef PROF_LIB_LIVE_CODE_SPAN_FILE_H
#define PROF_LIB_LIVE_CODE_SPAN_FILE_H

#include <sys/types.h>

#include "lib/base/vec.h"
#include "lib/live/code/line_file.h"
#include "lib/live/code/span_line.h"

struct span {
	uint32_t pid, tid;
	uint64_t start, end; /* CLOCK_MONOTONIC ns; an instant if equal */
	bool is_open; /* it had not ended when its program did; `end` is that time */
	struct span_text name, category;
	size_t attribute_count;
	const struct span_attribute *attributes; /* keys are unique */
};

/* Borrows the span. */
typedef void span_fn(void *ctx, const struct span *span);

/* Takes the spans of all files, up to a limit. */
struct span_sink {
	span_fn *fn;
	void *ctx;
	uint64_t spans, bytes;
};

struct open_span {
	uint64_t id_hash;
	char *line; /* owned, the one that began it */
	size_t size;
};

struct ns_thread {
	uint32_t inner, outer;
};

struct live_process;

struct span_file {
	struct live_process *owner; /* the one whose end is the file's; not used here */
	int fd;
	dev_t device;
	ino_t inode;
	uint64_t size; /* when last read to its end */
	uint32_t pid, tid; /* thread of the spans, unless lines say another one */
	uint32_t own_pid; /* in its pid namespace; 0: in the recorder's */
	VEC(struct ns_thread) threads;
	struct line_file lines;
	VEC(struct open_span) open; /* in the order of their beginnings */
	uint64_t spans, malformed;
	bool is_cut;
};

/* Closes the descriptor and frees everything. NULL is fine. */
void span_file_free(struct span_file *f);
/* Reads at most `budget` bytes. True: the file has more. */
bool span_file_read(struct span_file *f, uint64_t budget, bool is_last, struct span_sink *sink);
/*
 * Reads the file to its end, or to the limit of the recording. Spans that are open end at `time`,
 * with the program.
 */
void span_file_finish(struct span_file *f, uint64_t time, struct span_sink *sink);

/* Reads a number from 1 to INT32_MAX, and advances *at. */
bool span_file_number(const char **at, uint32_t *number);

#endif

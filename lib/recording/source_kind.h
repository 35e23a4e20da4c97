/* SPDX-License-Identifier: MIT */
/*
 * Kinds of files with the records of a recording. Each kind has a file here and a row in
 * source_kinds. Its records pass through session, walker and naming like those of a live recording.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/stream/record/records.h"

struct source_part {
	/* Times since the start of the recording; until_ns 0: to the end. */
	uint64_t from_ns, until_ns;
	uint64_t window_end_ns; /* end of the window, CLOCK_MONOTONIC; 0: not a window */
	/* Folders that hold files by build id, NULL-terminated; NULL: none. */
	const char *const *dirs;
	bool branches; /* also branches recorded by the CPU, as samples of PERF_BRANCHES */
};

/* Statistics of reading a source. */
struct source_counts {
	uint64_t records;
	uint64_t skipped_bytes; /* bytes skipped because of damage */
	uint64_t end_ns; /* CLOCK_MONOTONIC time of the last record */
	bool is_complete; /* false: the recorder was killed */
	char left_out[256]; /* records not shown, such as "3 records of unknown kinds"; "": none */
};

enum record_place {
	RECORD_OF_STREAM,
	RECORD_OF_STATE, /* the record repeats state from before the part began */
	RECORD_BEGINS_EPOCH, /* stacks are resent from this record on */
};

struct source_kind {
	const char *name; /* "capture" */
	/* Recognizes an open file by its first bytes. */
	bool (*matches)(int fd);
	/* Opens a file to read only that part. fd is borrowed until close(). */
	int (*open)(void **state, int fd, const struct source_part *part, struct error *err);
	struct source *(*source)(void *state);
	/* Returns the start of the recording, CLOCK_MONOTONIC and since the Unix epoch. */
	void (*start)(const void *state, uint64_t *start_ns, uint64_t *realtime_ns);
	/* Returns the place of the last returned record. NULL: always RECORD_OF_STREAM. */
	enum record_place (*place)(const void *state);
	void (*count)(const void *state, struct source_counts *counts);
	void (*close)(void *state);
};

extern const struct source_kind *const source_kinds[]; /* NULL-terminated */

/* Returns the kind of an open file; NULL if it holds no records. */
const struct source_kind *source_kind_of(int fd);

extern const struct source_kind source_capture, source_perf_data;

/* SPDX-License-Identifier: MIT */
/* Converts the records of a perf.data file to prof's own. */
#pragma once

#include "lib/recording/perf_data/perf_file.h"
#include "lib/recording/perf_data/perf_modules.h"
#include "lib/stream/record/records.h"

struct perf_source_options {
	/* As in struct perf_modules; NULL: no files are available. */
	int (*open_file)(void *ctx, const struct perf_mapped *file);
	void *ctx;
	uint32_t max_event; /* maximum event number */
	bool branches; /* include samples of PERF_BRANCHES */
};

struct perf_source;

/* fd is borrowed. */
int perf_source_open(struct perf_source **out, int fd, const struct perf_source_options *options,
		     struct error *err);
void perf_source_free(struct perf_source *s);
struct source *perf_source_records(struct perf_source *s);
const struct perf_file *perf_source_file(const struct perf_source *s);
/* Returns the ns between samples of the clock; without a clock, the usual interval. */
uint64_t perf_source_interval(const struct perf_source *s);

/* The subject of a recording. */
struct perf_origin {
	uint32_t root_pid; /* pid of the root process; 0: several */
	char name[REC_NAME_SIZE]; /* name of the root program; "": unknown */
	bool is_machine;
	bool has_copies; /* the file has copies of stacks */
};
struct perf_origin perf_source_origin(const struct perf_source *s);

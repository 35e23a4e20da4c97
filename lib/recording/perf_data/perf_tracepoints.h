/* SPDX-License-Identifier: MIT */
/*
 * Converts samples of tracepoints to markers that contain the tracepoints' fields, using the
 * formats in the file.
 */
#pragma once

#include "lib/recording/perf_data/perf_file.h"
#include "lib/recording/perf_data/perf_modules.h"
#include "lib/recording/perf_data/perf_sample.h"
#include "lib/recording/perf_data/perf_stacks.h"
#include "lib/stream/text/tracepoint_format.h"

struct perf_tracepoint {
	uint32_t attr;
	struct tracepoint_format format;
};

/* Zeroed is empty. */
struct perf_tracepoints {
	VEC(struct perf_tracepoint) rows; /* indexed by schema number */
};

void perf_tracepoints_release(struct perf_tracepoints *t);
/*
 * Parses the formats of the file's events, and sends their schemas. Formats that are damaged, or in
 * the other byte order, are left out.
 */
void perf_tracepoints_begin(struct perf_tracepoints *t, const struct perf_file *file,
			    struct perf_out *out);
/* Sends the marker of a sample, if its event has a format. */
void perf_tracepoints_sample(const struct perf_tracepoints *t, uint32_t attr,
			     const struct perf_sample *sample, const struct perf_place *place,
			     struct perf_out *out);

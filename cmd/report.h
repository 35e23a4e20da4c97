/* SPDX-License-Identifier: MIT */
/* What a recording came to: the summary on stderr and the file of --stats. */
#ifndef PROF_CMD_REPORT_H
#define PROF_CMD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/naming.h"
#include "lib/base/outfile.h"
#include "lib/export/exporter.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"
#include "symbolize/sources.h"

struct outcome {
	const struct profile *profile;
	struct recorder_info info;
	struct export_counts counts;
	enum recorder_unwind unwind;
	const struct naming *naming; /* NULL: not to be shown */
	const struct sources_stats *sources; /* NULL: not asked for */
	const char *path; /* of the profile; "-": standard output */
	uint64_t file_bytes;
	uint64_t finish_ns; /* from the end of the command to the finished file */
	uint64_t recorder_cpu_ns;
	int exit_status;
};

/* Losses are warned of even where `quiet` silences the rest. */
void report_summary(const struct outcome *outcome, bool quiet);
/* One JSON object with the keys that prof-record(1) documents. The caller commits. */
void report_stats(const struct outcome *outcome, struct outfile *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The summary of runtimes: which there were, how complete stacks and names are. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_RUNTIME_REPORT_H
#define PROF_LIB_LIVE_INSTRUMENTS_RUNTIMES_RUNTIME_REPORT_H

#include <stdint.h>

#include "bpf/config.h"
#include "lib/live/report.h"

struct runtime_totals {
	const struct runtime_counters *kernel; /* of all CPUs */
	uint64_t early; /* stacks finished from copies made before the runtime was known */
	uint64_t functions; /* described */
	uint64_t late; /* of those, read again from the process */
	uint64_t nameless; /* of those, without a name */
	uint64_t dropped; /* functions beyond the limit */
	uint64_t refused_reads;
	uint64_t compiled, inlined; /* pieces of code; those whose inlined functions are known */
	uint64_t refused_files;
};

/* `versions` names the runtimes. Says nothing unless recorded stacks met one. */
void runtime_report(const struct runtime_totals *t, const char *versions, struct report *report);

#endif

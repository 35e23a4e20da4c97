/* SPDX-License-Identifier: MIT */
/* What the BPF programs count on each CPU: read now and then, losses become records. */
#ifndef PROF_LIB_LIVE_BPF_COUNTERS_H
#define PROF_LIB_LIVE_BPF_COUNTERS_H

#include <stdint.h>

#include "bpf/config.h"
#include "lib/live/machine/cpu_list.h"
#include "lib/record/sink.h"
#include "lib/live/bpf/programs.h"

/* Sums over all CPUs since the programs were loaded. */
struct counter_sums {
	uint64_t written_bytes, skipped_copies, skipped_arguments, idle_ticks, other_ticks;
};

struct counters {
	struct cpu_list possible; /* CPUs */
	struct bpf_counters *now, *before; /* by position in `possible` */
	struct counter_sums sums;
};

int counters_init(struct counters *c, struct error *err);
void counters_release(struct counters *c);
/* Reads them, and sends a REC_LOST for each CPU and cause that there is more of. */
void counters_report(struct counters *c, struct programs *programs, uint64_t time,
		     record_sink_fn *sink, void *ctx);

#endif

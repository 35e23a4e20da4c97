/* SPDX-License-Identifier: MIT */
/* Reads the BPF programs' per-CPU counters periodically, and sends records of losses. */
#pragma once

#include "bpf/config.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/machine/cpu_list.h"
#include "lib/stream/record/source.h"

struct counter_reader {
	struct cpu_list possible; /* possible CPUs */
	struct bpf_counters *now, *before; /* by position in `possible` */
	struct bpf_counters sums; /* over all CPUs since the programs were loaded */
};

int counter_reader_init(struct counter_reader *c, struct error *err);
void counter_reader_release(struct counter_reader *c);
/* Reads the counters and sends a REC_LOST for each CPU and cause whose counter has increased. */
void counter_reader_report(struct counter_reader *c, struct programs *programs, uint64_t time,
			   record_sink_fn *sink, void *ctx);

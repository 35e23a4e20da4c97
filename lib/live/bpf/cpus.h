/* SPDX-License-Identifier: MIT */
/*
 * The machine's CPUs, each with its mapping ring, its BPF ring and the events opened on it. CPU ids
 * are read from the machine and may have gaps; the recorder's affinity mask and cgroup quota do not
 * affect them.
 */
#pragma once

#include "lib/live/bpf/programs.h"
#include "lib/live/machine/host.h"
#include "lib/live/perf/perf_event.h"
#include "bpf/config.h"
#include "lib/stream/record/records.h"

struct live_cpu {
	uint32_t id;
	bool online;
	bool has_ring; /* has a ring for records of programs, even after the CPU went offline */
	bool has_failed; /* online, but opening failed; already reported */
	bool is_open; /* sampled: everything for the CPU is open */
	struct map_ring *map_ring; /* NULL: offline */
};

/* Callbacks that open and close everything else on a sampled CPU. */
struct cpu_hooks {
	int (*open)(void *ctx, const struct live_cpu *cpu, struct error *err);
	void (*close)(void *ctx, const struct live_cpu *cpu);
	void *ctx;
};

struct cpu_set {
	VEC(struct live_cpu) cpus;
	struct programs *programs; /* borrowed */
	const struct cpu_list *only; /* borrowed: CPUs to sample; empty: all CPUs */
	struct cpu_hooks hooks;
};

/* Called for a CPU that was opened, or that has gone offline and is about to be closed. */
typedef void cpu_change_fn(void *ctx, const struct live_cpu *cpu);

/* Opens everything on all online CPUs. Set the borrowed members and the hooks first. */
int cpu_set_open(struct cpu_set *set, struct error *err);
void cpu_set_release(struct cpu_set *set);
/* Closes CPUs that have gone offline, opens those that came online, and reports each to `fn`. */
void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx);

/* Reads the BPF programs' per-CPU counters periodically, and sends records of losses. */
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

/*
 * The idle time of CPUs as accounted by the kernel. The clock does not tick on an idle CPU: without
 * timer interrupts, it would be throttled after some hundred ticks, and miss samples once the CPU
 * is busy again.
 */

/* Returns ns since boot, summed over these CPUs, or over all if the list is empty; 0 if unknown. */
uint64_t idle_time_read(const struct cpu_list *only);
/* The same for the time stolen by the hypervisor. */
uint64_t steal_time_read(const struct cpu_list *only);
uint64_t steal_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns);
/* Parses the text of /proc/stat for idle_time_read(); unit_ns is its unit of time. */
uint64_t idle_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns);

/* SPDX-License-Identifier: MIT */
/*
 * The CPUs: each with its mapping ring and its BPF ring, and whatever is opened there. CPU ids are
 * read from the machine; they have gaps, and neither an affinity mask nor a cgroup's quota of the
 * recorder has anything to do with them.
 */
#ifndef PROF_LIB_LIVE_BPF_CPUS_H
#define PROF_LIB_LIVE_BPF_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/machine/cpu_list.h"
#include "lib/live/perf/perf_event.h"

struct live_cpu {
	uint32_t id;
	bool online;
	bool has_ring; /* for records of the programs; it stays when the CPU goes */
	bool has_failed; /* it is online, cannot be opened, and that was said */
	bool is_open; /* it is sampled, and what open_cpu() opens is there */
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
	const struct cpu_list *only; /* borrowed: those that are sampled; empty: all */
	struct cpu_hooks hooks;
};

/* Told about a CPU that came, or that is about to go: its mapping ring is still there. */
typedef void cpu_change_fn(void *ctx, const struct live_cpu *cpu);

/* Everything for all CPUs that are online. The set's borrowed members and hooks are set before. */
int cpu_set_open(struct cpu_set *set, struct error *err);
void cpu_set_release(struct cpu_set *set);
/* Compares with what is online now: adds what came, reports what changed. */
void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The CPUs: each with its sampling event, its mapping ring and its BPF ring. CPU
 * ids are read from the machine; they have gaps, and neither an affinity mask nor a cgroup's quota
 * of the recorder has anything to do with them.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_CPUS_H
#define PROF_LIB_LIVE_INSTRUMENTS_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/live/perf/event_spec.h"
#include "lib/live/instruments/event_set.h"
#include "lib/live/machine/cpu_list.h"
#include "lib/live/perf/perf_event.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/perf/throttling.h"

struct sampled_cpu {
	uint32_t id;
	bool online;
	bool has_ring; /* for samples; it stays when the CPU goes */
	bool has_failed; /* it is online, cannot be opened, and that was said */
	int sampling_fd;
	struct map_ring *map_ring;
};

/* Samples a second where nobody wishes anything; fewer, with a warning, where no more are allowed.
 */
double sampling_default_hz(void);

struct cpu_set {
	VEC(struct sampled_cpu) cpus;
	struct sampling_event event;
	struct programs *programs;
	const struct cpu_list *only; /* borrowed: those that are sampled; empty: all */
	struct event_set *events; /* besides the clock; NULL: none */
	struct throttling *throttling; /* borrowed */
	bool enabled;
};

/* Told about a CPU that came, or that is about to go: its mapping ring is still there. */
typedef void cpu_change_fn(void *ctx, const struct sampled_cpu *cpu);

/* Hardware cycles where they can be had, else the CPU clock: decided by trying, or by `wish`. */
int sampling_event_choose(struct sampling_event *event, const struct event_spec *wish,
			  double frequency_hz, uint64_t interval_ns, struct error *err);
/* "cycles", "cpu-clock" or "task-clock". */
const char *sampling_event_name(const struct sampling_event *event);

/* Everything for all CPUs that are online. `programs` and `events` (or NULL) are borrowed. */
int cpu_set_open(struct cpu_set *set, const struct sampling_event *event, struct programs *programs,
		 struct event_set *events, struct error *err);
void cpu_set_release(struct cpu_set *set);
/* Sampling begins or ends on all of them. */
int cpu_set_enable(struct cpu_set *set, bool enable, struct error *err);
/* Compares with what is online now: adds what came, tells what changed. */
void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx);

#endif

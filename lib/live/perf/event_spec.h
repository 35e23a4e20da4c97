/* SPDX-License-Identifier: MIT */
/*
 * What -e takes: names of events, how often each is to be sampled, and which one is the clock.
 * Parsing asks nothing of the machine; what the machine has of it is found out by
 * event_list_resolve().
 */
#ifndef PROF_LIB_LIVE_PERF_EVENT_SPEC_H
#define PROF_LIB_LIVE_PERF_EVENT_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "lib/base/error.h"

#define EVENT_NAME_MAX 128

enum event_kind {
	EVENT_TIME, /* the first of them is the clock: cpu-clock, task-clock, cycles */
	EVENT_HARDWARE, /* the PMU counts, and samples by itself */
	EVENT_SOFTWARE, /* the kernel tells of each occurrence */
	EVENT_TRACEPOINT, /* likewise */
};

struct event_spec {
	char name[EVENT_NAME_MAX]; /* as the profile shows it: "page-faults", "sched:sched_switch"
				    */
	enum event_kind kind;
	uint32_t type; /* of struct perf_event_attr */
	uint64_t config; /* likewise; of a tracepoint once it is resolved */
	uint64_t period; /* every so many; 0: by rate */
	double rate_hz; /* at most so many samples a second and CPU; 0: the default */
};

/* Does the kernel tell how much a sample stands for, and not each occurrence? */
bool event_is_measured(const struct event_spec *spec);

struct event_list {
	struct event_spec rows[EVENTS_MAX]; /* from 1 on, as the wire counts them; 0: the clock */
	uint32_t count; /* of rows, the clock included: at least 1 once something was added */
	bool has_clock; /* rows[0] was named */
};

/* Adds what `text` names, separated by commas. 0, or -EINVAL where that is wrong in itself. */
int event_list_add(struct event_list *list, const char *text, struct error *err);
/* Finds the tracepoints. 0, or a negative errno: there is no such, or they cannot be looked up. */
int event_list_resolve(struct event_list *list, struct error *err);

#endif

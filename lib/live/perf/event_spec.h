/* SPDX-License-Identifier: MIT */
/*
 * Parses the argument of -e: names of events, their sampling rates, and the clock. Parsing does not
 * depend on the machine; event_list_resolve() accesses it.
 */
#pragma once

#include "bpf/config.h"
#include "lib/base/base.h"

#define EVENT_NAME_MAX 128

enum event_kind {
	EVENT_TIME, /* first row: the clock, one of cpu-clock, task-clock and cycles */
	EVENT_HARDWARE, /* counted and sampled by the PMU */
	EVENT_SOFTWARE, /* the kernel reports each occurrence */
	EVENT_TRACEPOINT, /* the kernel reports each occurrence */
};

struct event_spec {
	char name[EVENT_NAME_MAX]; /* name in the profile: "page-faults", "sched:sched_switch" */
	enum event_kind kind;
	uint32_t type; /* as in struct perf_event_attr */
	uint64_t config; /* as in struct perf_event_attr; for tracepoints set when resolved */
	uint64_t period; /* number of occurrences per sample; 0: by rate */
	/* For tracepoints: each occurrence is a marker with its fields, not a sample. */
	bool is_marker;
	double rate_hz; /* maximum samples per second and CPU; 0: the default */
};

/* True if the kernel reports the weight of a sample rather than each occurrence. */
bool event_is_measured(const struct event_spec *spec);

struct event_list {
	struct event_spec rows[EVENTS_MAX]; /* by event number on the wire; row 0 is the clock */
	uint32_t count; /* number of rows, including the clock's unless nothing was added */
	bool has_clock; /* rows[0] was named by the user */
};

/*
 * Returns a NULL-terminated list of names of events: those that prof supports, and tracepoints if
 * tracefs can be read. The list is made at the first call and lives until the program ends.
 */
const char *const *event_names(void);
/* Adds the comma-separated events in `text`. Returns 0, or -EINVAL if it is malformed. */
int event_list_add(struct event_list *list, const char *text, struct error *err);
/*
 * Finds the tracepoints. Returns 0, or a negative errno if one does not exist or cannot be looked
 * up.
 */
int event_list_resolve(struct event_list *list, struct error *err);

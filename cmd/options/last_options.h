/* SPDX-License-Identifier: MIT */
/* Options of the flight recorder: how much is kept, and which events trigger a snapshot. */
#ifndef PROF_CMD_OPTIONS_LAST_OPTIONS_H
#define PROF_CMD_OPTIONS_LAST_OPTIONS_H

#include <stdint.h>

#include "cmd/options/option_table.h"
#include "lib/base/vec.h"

enum trigger_kind {
	TRIGGER_EXIT, /* a recorded process ends with a status or by a signal */
	TRIGGER_FILE, /* a file appears or is written */
	TRIGGER_PRESSURE, /* tasks stall on a resource for this share of a second */
	TRIGGER_STALL, /* no recorded task has run for this long */
	TRIGGER_MARKER, /* a marker lasted longer than this */
};

/* Stands for every wait(2) status except exit(0). */
#define EXIT_FAILED UINT64_MAX

/* A condition that triggers a snapshot. */
struct trigger {
	enum trigger_kind kind;
	const char *text; /* the option's value, borrowed */
	size_t name_size; /* bytes of the text that are the name of a resource or a marker */
	uint64_t number; /* status, ns, or millionths of the time */
};

struct last_options {
	uint64_t keep_ns; /* 0: keep everything until the end */
	uint64_t keep_bytes; /* likewise */
	uint64_t after_ns; /* from a trigger to its snapshot */
	uint64_t every_ns; /* minimum time between two triggered snapshots */
	VEC(struct trigger) triggers;
};

extern const struct option_row last_options[];
extern const struct option_rule last_rules[];

void last_options_init(struct last_options *o);
void last_options_release(struct last_options *o);

#endif

/* SPDX-License-Identifier: MIT */
/* Options of the flight recorder: how much to keep, and which events trigger a snapshot. */
#pragma once

#include "cmd/options/option_table.h"

enum trigger_kind {
	TRIGGER_EXIT, /* a recorded process ends with a status or by a signal */
	TRIGGER_FILE, /* a file is created or written */
	TRIGGER_PRESSURE, /* tasks are stalled on a resource for this share of a second */
	TRIGGER_STALL, /* no recorded task has run for this long */
	TRIGGER_MARKER, /* a marker lasted longer than this */
};

/* Represents every wait(2) status except exit(0). */
#define EXIT_FAILED UINT64_MAX

/* A condition that triggers a snapshot. */
struct trigger {
	enum trigger_kind kind;
	const char *text; /* value of the option, borrowed */
	size_t name_size; /* length of the resource or marker name at the start of the text */
	uint64_t number; /* exit status, ns, or millionths of the time */
};

struct last_options {
	uint64_t keep_ns; /* time to keep; 0: everything until the end */
	uint64_t keep_bytes; /* bytes to keep; 0: no limit */
	uint64_t after_ns; /* delay between a trigger and its snapshot */
	uint64_t every_ns; /* minimum interval between triggered snapshots */
	VEC(struct trigger) triggers;
};

extern const struct option_row last_options[];
extern const struct option_rule last_rules[];

void last_options_init(struct last_options *o);
void last_options_release(struct last_options *o);

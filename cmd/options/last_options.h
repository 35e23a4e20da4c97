/* SPDX-License-Identifier: MIT */
/* Options of the flight recorder: how much is kept, and what asks for a snapshot. */
#ifndef PROF_CMD_OPTIONS_LAST_OPTIONS_H
#define PROF_CMD_OPTIONS_LAST_OPTIONS_H

#include <stdint.h>

#include "cmd/options/option_table.h"
#include "lib/base/vec.h"

enum trigger_kind {
	TRIGGER_EXIT, /* a recorded process ends with a status or by a signal */
	TRIGGER_FILE, /* a file appears or is written */
	TRIGGER_PRESSURE, /* tasks wait for a resource this share of a second */
	TRIGGER_STALL, /* nothing that is recorded has run for this long */
	TRIGGER_MARKER, /* a marker ends that took longer */
};

/* Stands for every status of wait(2) but that of exit(0). */
#define EXIT_FAILED UINT64_MAX

/* Asks for a snapshot. */
struct trigger {
	enum trigger_kind kind;
	const char *text; /* the option's value, borrowed */
	size_t name_size; /* bytes of the text that name a resource or a marker */
	uint64_t number; /* status, ns, or millionths of the time */
};

struct last_options {
	uint64_t keep_ns; /* 0: everything is kept, until the end */
	uint64_t keep_bytes; /* likewise */
	uint64_t after_ns; /* from a trigger to its snapshot */
	uint64_t every_ns; /* least time between two snapshots that triggers ask for */
	VEC(struct trigger) triggers;
};

extern const struct option_row last_options[];
extern const struct option_rule last_rules[];

void last_options_init(struct last_options *o);
void last_options_release(struct last_options *o);

#endif

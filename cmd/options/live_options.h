/* SPDX-License-Identifier: MIT */
/* The options of every command that records: how often, how long, as whom. */
#ifndef PROF_CMD_OPTIONS_LIVE_OPTIONS_H
#define PROF_CMD_OPTIONS_LIVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/live/recorder.h"

struct live_options {
	double frequency_hz; /* 0: by interval_ns */
	uint64_t interval_ns; /* 0: by frequency_hz; both 0: the default */
	uint64_t duration_ns; /* 0: no limit */
	struct event_list events;
	bool per_cpu; /* the profile has a row for each CPU, too */
	uint64_t ring_bytes; /* per CPU; 0: the default */
	enum recorder_unwind unwind;
	uint64_t unwind_bytes; /* 0: the default */
	bool kill; /* the command, after the duration */
	bool as_root;
	bool no_arguments; /* of programs: not in the profile */
	int ready_fd; /* to be told when all is armed; -1: none */
	const char *ready_path; /* likewise; NULL: none */
};

/* Values of the options without a letter. */
enum {
	OPT_KILL = 256,
	OPT_AS_ROOT,
	OPT_PER_CPU,
	OPT_RING_SIZE,
	OPT_UNWIND,
	OPT_UNWIND_MEMORY,
	OPT_READY_FD,
	OPT_READY_FILE,
	OPT_NO_ARGUMENTS,
	OPT_LIVE_END,
};

/* For the tables that getopt_long() takes. */
#define LIVE_SHORT_OPTIONS "F:i:e:d:"
/* clang-format off */
#define LIVE_LONG_OPTIONS \
	{"frequency", required_argument, NULL, 'F'}, \
	{"interval", required_argument, NULL, 'i'}, \
	{"event", required_argument, NULL, 'e'}, \
	{"duration", required_argument, NULL, 'd'}, \
	{"per-cpu", no_argument, NULL, OPT_PER_CPU}, \
	{"ring-size", required_argument, NULL, OPT_RING_SIZE}, \
	{"unwind", required_argument, NULL, OPT_UNWIND}, \
	{"unwind-memory", required_argument, NULL, OPT_UNWIND_MEMORY}, \
	{"no-arguments", no_argument, NULL, OPT_NO_ARGUMENTS}, \
	{"ready-fd", required_argument, NULL, OPT_READY_FD}, \
	{"ready-file", required_argument, NULL, OPT_READY_FILE}
/* What is about a command that prof starts. */
#define COMMAND_LONG_OPTIONS \
	{"kill", no_argument, NULL, OPT_KILL}, \
	{"as-root", no_argument, NULL, OPT_AS_ROOT}
/* clang-format on */

/* Their lines in --help. */
extern const char live_options_help[], command_options_help[];

void live_options_init(struct live_options *o);
/* 0, -EINVAL with err where the value is wrong, -ENOENT where `opt` is none of these. */
int live_options_set(struct live_options *o, int opt, const char *value, struct error *err);
/* After the last one: what does not go together, and defaults. 0 or -EINVAL. */
int live_options_check(struct live_options *o, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Options of every command that records: duration, user, and those of the instruments, which have
 * their own tables (lib/live/instrument.h).
 */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/live/instrument.h"
#include "lib/live/recorder.h"

/* Options of the flight recorder: how much to keep, and which events trigger a snapshot. */

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

/*
 * Values that options can have on this machine now, for completion in shells. Each list ends with
 * NULL, is made at the first call, and lives until the program ends. A value may be followed by a
 * tab and a description.
 */

/* Pids, with the names of the processes as descriptions. */
const char *const *live_pids(void);
/* Names of processes, each once. */
const char *const *live_names(void);
/* Names of users. */
const char *const *live_users(void);
/* Control groups, relative to where they are mounted; at most 10,000. */
const char *const *live_groups(void);
/* Services of systemd that have a control group. */
const char *const *live_units(void);
/* Pids of running recorders. */
const char *const *live_recorders(void);
/* An empty list. */
const char *const *live_nothing(void);

struct live_options {
	struct instrument_settings instruments;
	uint64_t duration_ns; /* 0: no limit */
	bool per_cpu; /* add a row for each CPU to the profile */
	uint64_t ring_bytes; /* size per CPU; 0: the default */
	enum recorder_unwind unwind;
	uint64_t unwind_bytes; /* 0: the default */
	bool kill; /* end the command after the duration */
	bool as_root;
	bool no_arguments; /* leave program arguments out of the profile */
	int ready_fd; /* descriptor for "ready"; -1: none */
	/* Recording begins paused and resumes after this time; 0: only on request. */
	uint64_t delay_ns;
	bool starts_paused;
	double max_overhead; /* maximum share of the CPUs' time for recording; 0: unlimited */
	int control_fd, ack_fd; /* descriptors of --control-fd; -1: none */
	const char *ready_path; /* file for "ready"; NULL: none */
	struct last_options last;
};

/* Adds these options and those of the instruments. Values are stored in `o`. */
void live_options_table(struct option_table *t, struct live_options *o);
/* Options for commands that prof starts; values are also stored in live_options. */
extern const struct option_row command_options[];
extern const struct option_rule command_rules[];

void live_options_init(struct live_options *o);
void live_options_release(struct live_options *o);

/* SPDX-License-Identifier: MIT */
/*
 * Options of every command that records: duration, user, and those of the instruments, which have
 * their own tables (lib/live/instrument.h).
 */
#ifndef PROF_CMD_OPTIONS_LIVE_OPTIONS_H
#define PROF_CMD_OPTIONS_LIVE_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/live/instrument.h"
#include "lib/live/recorder.h"

struct live_options {
	struct instrument_settings instruments;
	uint64_t duration_ns; /* 0: no limit */
	bool per_cpu; /* also a row for each CPU in the profile */
	uint64_t ring_bytes; /* per CPU; 0: the default */
	enum recorder_unwind unwind;
	uint64_t unwind_bytes; /* 0: the default */
	bool kill; /* end the command after the duration */
	bool as_root;
	bool no_arguments; /* leave program arguments out of the profile */
	int ready_fd; /* descriptor for "ready"; -1: none */
	const char *ready_path; /* file for "ready"; NULL: none */
};

/* Values of options without a letter. */
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
	OPT_INSTRUMENTS = 4096, /* first value for options of instruments */
};

/* Tables for getopt_long(); live_options_getopt() adds the options of the instruments. */
#define LIVE_SHORT_OPTIONS "d:"
/* clang-format off */
#define LIVE_LONG_OPTIONS \
	{"duration", required_argument, NULL, 'd'}, \
	{"per-cpu", no_argument, NULL, OPT_PER_CPU}, \
	{"ring-size", required_argument, NULL, OPT_RING_SIZE}, \
	{"unwind", required_argument, NULL, OPT_UNWIND}, \
	{"unwind-memory", required_argument, NULL, OPT_UNWIND_MEMORY}, \
	{"no-arguments", no_argument, NULL, OPT_NO_ARGUMENTS}, \
	{"ready-fd", required_argument, NULL, OPT_READY_FD}, \
	{"ready-file", required_argument, NULL, OPT_READY_FILE}
/* Options for a command that prof starts. */
#define COMMAND_LONG_OPTIONS \
	{"kill", no_argument, NULL, OPT_KILL}, \
	{"as-root", no_argument, NULL, OPT_AS_ROOT}
/* clang-format on */

/* Arguments of getopt_long(); zeroed it is empty. */
struct live_getopt {
	VEC(struct option) longs;
	struct strbuf shorts;
};

/*
 * Fills it with these options and those of the instruments. Borrows `shorts` and the names in
 * `longs`.
 */
void live_options_getopt(struct live_getopt *g, const char *shorts, const struct option *longs);
void live_getopt_release(struct live_getopt *g);

static inline void live_getopt_release_cleanup(struct live_getopt *g)
{
	live_getopt_release(g);
}

/* Appends their lines in --help. */
void live_options_help(struct strbuf *out);
extern const char command_options_help[];

void live_options_init(struct live_options *o);
void live_options_release(struct live_options *o);
/* Returns 0, -EINVAL with err if the value is wrong, -ENOENT if `opt` is not a live option. */
int live_options_set(struct live_options *o, int opt, const char *value, struct error *err);
/* Checks combinations and fills in defaults. Call after the last option. 0 or -EINVAL. */
int live_options_check(struct live_options *o, struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* All options of a recording: of its runs, of engines, of the pipeline. */
#pragma once

#include "cmd/options/live_options.h"
#include "cmd/options/option_table.h"
#include "cmd/options/output_options.h"
#include "lib/live/process/targets.h"

/* Options to record a command several times, or two variants of it alternately. */

/* Maximum number of runs in total. Each waits as a separate process until it is executed. */
#define ITERATION_RUNS_MAX 1000
#define ITERATION_VARIANTS 8

struct iteration_variant {
	char *name;
	char **argv;
};

struct iteration_options {
	uint32_t min, max; /* number of iterations; if min < max, interim looks decide */
	uint32_t warmup; /* unrecorded runs of each variant at the beginning */
	/* owned; empty for a command without variants */
	struct iteration_variant variants[ITERATION_VARIANTS];
	uint32_t variant_count;
	uint32_t seed; /* seed for the order within each iteration; never 0 after the check */
	bool keep_going; /* continue after a run that fails */
	bool is_used; /* one of the options was given */
};

/* A group with a heading, after an empty line; values are stored in iteration_options. */
extern const struct option_row iteration_options[];

/*
 * Checks combinations and fills in defaults; argv is the command, NULL: none. Call after the last
 * option. Returns 0 or -EINVAL.
 */
int iteration_options_check(struct iteration_options *o, char *const *argv, struct error *err);
/* Returns the command for display: that of the options, or of the first variant. */
char *const *iteration_options_argv(const struct iteration_options *o, char *const *argv);
void iteration_options_release(struct iteration_options *o);
/* Returns the number of interim looks at the result: after min, 2 min … max iterations. */
uint32_t iteration_options_looks(const struct iteration_options *o);

/* Options of commands that send samples to engines, which store those of many machines. */

struct push_options {
	VEC(const char *) urls; /* engines to send windows to; empty: none */
	const char *service; /* service of all processes; NULL: each process has its own */
	/* Service of processes that name none; NULL: derived from other facts. */
	const char *fallback;
	const char *host; /* NULL: the host name */
	uint32_t max_series; /* maximum number of services, containers and programs per window; 0:
				the default */
	VEC(const char *) labels; /* "key=value", NULL-terminated after push_options_check() */
	uint64_t every_ns; /* length of a window */
	uint64_t retry_ns; /* delay after the first failure */
	const char *spool_dir; /* folder for queued windows; NULL: keep them in memory */
	const char *status_path; /* NULL: not requested */
	int alive_fd; /* descriptor that receives a byte each second while recording; -1: none */
};

/*
 * Rows whose values are stored in push_options: options about the sender, and about pushing during
 * a recording.
 */
extern const struct option_row push_options_who[], push_options_windows[];
/* Rules for push_options_windows, for commands with --push. */
extern const struct option_rule push_options_rules[];

void push_options_init(struct push_options *o);
void push_options_release(struct push_options *o);
/* Call after the last option. -EINVAL with err for invalid addresses. */
int push_options_check(struct push_options *o, struct error *err);

/* All settings of a recording. */

struct caller;

struct pipeline_options {
	const char *command; /* name for messages, such as "record" */
	const struct live_options *live;
	const struct filter *filter; /* selection of tasks to record */
	const struct output_options *output;
	const struct push_options *push; /* engines that receive windows; NULL: none */
	char *const *own_argv; /* arguments of prof itself, beginning with the command */
	/* description of the filters, for recordings without command and targets */
	const char *filter_text;
	char *const *argv; /* command to run and record, NULL-terminated; NULL: none */
	const struct iteration_options *iterations; /* NULL: the command runs once */
	/* Process that runs the command and gets the status; NULL: prof itself. */
	struct caller *front;
	struct targets *targets; /* running processes to record; NULL: none */
};

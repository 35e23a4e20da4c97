/* SPDX-License-Identifier: MIT */
/*
 * Runs a command, or two variants, several times in one recording. All runs are forked at once,
 * before anything changes this process, and wait; each is executed when the previous one has ended.
 * A caller, whose state does not change, forks them one by one.
 */
#pragma once

#include "cmd/options/iteration_options.h"
#include "cmd/elevate/caller.h"
#include "lib/recording/recording_facts.h"
#include "cmd/run/supervisor.h"
#include "lib/live/machine/child.h"
#include "lib/model/tables/profile.h"

struct iteration_run {
	struct child *child; /* valid until it is reaped */
	uint32_t iteration; /* counted from 1; 0: a warm-up */
	uint32_t variant; /* index of the variant in the options */
	uint32_t pid;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end 0: still running */
	uint32_t status; /* exit status as in a shell */
	uint64_t cpu_ns;
};

struct iterations {
	const struct iteration_options *options; /* NULL: no iterations */
	VEC(struct iteration_run) runs; /* in order of execution */
	size_t current;
	size_t reported; /* next run for iterations_next_fact() */
	struct caller *front; /* process that forks each run when it is due; NULL: all runs are
				 forked at once */
};

/*
 * Chooses the order and forks all runs like `like`, with the commands of their variants. A caller
 * forks the first run now, and each later one when it is due.
 */
int iterations_fork(struct iterations *it, const struct iteration_options *options,
		    const struct child_options *like, struct caller *front, struct error *err);
/* Kills the runs that were not executed. Zeroed is empty. */
void iterations_release(struct iterations *it);
/* Returns the current run, or the next one. */
struct iteration_run *iterations_current(struct iterations *it);
/* Returns the first recorded run. */
const struct iteration_run *iterations_first(const struct iterations *it);
/*
 * Records the end of the current run and advances to the next one, whose child becomes the
 * supervisor's. Returns false at the end: after a failure, an interruption, or a decisive interim
 * look; or, with err, because the caller could not fork the next run.
 */
bool iterations_advance(struct iterations *it, struct supervisor *supervisor, struct error *err);
/* Records the end of the last run, which may come after sampling has ended. */
void iterations_settle(struct iterations *it, const struct supervisor *supervisor);
/* True if the recording ended while warming up, so that it is empty. */
bool iterations_are_none(struct iterations *it);
/* Returns the exit status, unless prof itself fails. */
int iterations_exit_status(const struct iterations *it, const struct supervisor *supervisor);
/* Stores the next recorded run that has ended, each run once. False if there is none. */
bool iterations_next_fact(struct iterations *it, struct run_fact *fact);
/* Adds each recorded run that has ended to the facts, which borrow its variant's name. */
void iterations_add_runs(const struct iterations *it, struct recording_facts *facts);

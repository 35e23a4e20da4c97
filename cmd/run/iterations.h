/* SPDX-License-Identifier: MIT */
/*
 * Runs a command, or two variants, several times in one recording. All runs are forked at once,
 * before anything changes this process, and wait; each is executed when the one before has ended.
 * A caller, which nothing changes, forks them one by one.
 */
#ifndef PROF_CMD_RUN_ITERATIONS_H
#define PROF_CMD_RUN_ITERATIONS_H

#include "cmd/options/iteration_options.h"
#include "cmd/elevate/caller.h"
#include "lib/recording/recording_facts.h"
#include "cmd/run/supervisor.h"
#include "lib/base/vec.h"
#include "lib/live/machine/child.h"
#include "lib/model/tables/profile.h"

struct iteration_run {
	struct child *child; /* until it is collected */
	uint32_t iteration; /* from 1 on; 0: a warm-up */
	uint32_t variant; /* of the options */
	uint32_t pid;
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end 0: it has not ended */
	uint32_t status; /* as a shell has it */
	uint64_t cpu_ns;
};

struct iterations {
	const struct iteration_options *options; /* NULL if none */
	VEC(struct iteration_run) runs; /* in the order in which they are executed */
	size_t current;
	size_t told; /* by iterations_next_fact() */
	struct caller *front; /* forks each run when it is its turn; NULL: all are forked */
};

/*
 * Chooses the order and forks all runs as `like` says; variants have commands of their own. With a
 * caller, that forks the first run, and each other one when it is its turn.
 */
int iterations_fork(struct iterations *it, const struct iteration_options *options,
		    const struct child_options *like, struct caller *front, struct error *err);
/* Kills those that were not executed. Zeroed it is empty. */
void iterations_release(struct iterations *it);
/* Returns the run that is next, or goes on. */
struct iteration_run *iterations_current(struct iterations *it);
/* Returns the first run that is recorded. */
const struct iteration_run *iterations_first(const struct iterations *it);
/*
 * Notes the end of the current run and goes on to the next one, whose child the supervisor gets.
 * Returns false at the end: after a failure, an interruption, or a look that decides; or, with err,
 * because the caller could not fork it.
 */
bool iterations_advance(struct iterations *it, struct supervisor *supervisor, struct error *err);
/* Notes the end of the last run, which may have come after sampling has ended. */
void iterations_settle(struct iterations *it, const struct supervisor *supervisor);
/* True if it ended while it warmed up: then there is nothing in the recording. */
bool iterations_are_none(struct iterations *it);
/* Returns the exit status, if nothing of prof's own fails. */
int iterations_exit_status(const struct iterations *it, const struct supervisor *supervisor);
/* Tells of a recorded run that has ended, of each once. False: there is no other one. */
bool iterations_next_fact(struct iterations *it, struct run_fact *fact);
/* Adds each recorded run that has ended to the facts, which borrow its variant's name. */
void iterations_add_runs(const struct iterations *it, struct recording_facts *facts);

#endif

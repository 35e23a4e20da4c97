/* SPDX-License-Identifier: MIT */
/* The helper's view of the front end that started it: see cmd/run/elevation.h. */
#ifndef PROF_CMD_RUN_FRONT_END_H
#define PROF_CMD_RUN_FRONT_END_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cmd/options/live_options.h"
#include "cmd/run/signals.h"
#include "lib/base/error.h"
#include "lib/live/machine/child.h"

/* Signals that came faster than anybody looked. */
#define FRONT_END_SIGNALS 16

struct front_end {
	pid_t pid;
	int socket;
	int fetcher; /* socket of the process that downloads; -1: none */
	int ready_fd; /* of --ready-fd; -1: none */
	int command_fd; /* pidfd of the command; -1: there is none */
	pid_t command;
	bool gone; /* end of file */
	bool ended; /* the command has, and this is how: */
	int wait_status;
	struct signal_event signals[FRONT_END_SIGNALS];
	size_t signal_count;
};

/*
 * Called by root with the socket as standard input, and alone: checks that the front end, the user
 * for whom sudo runs and the owner of the command are one and the same, takes over the front end's
 * standard output, standard error and working directory, and drops the environment.
 */
int front_end_accept(struct front_end *f, struct error *err);
void front_end_release(struct front_end *f);
/* Descriptors that options name are the front end's: puts those in that came from there. */
void front_end_set_options(struct front_end *f, struct live_options *live);
/* The command that waits there. */
int front_end_child(struct front_end *f, struct child **out, struct error *err);
/* Readable when the front end has something to say. */
int front_end_fd(const struct front_end *f);
/* For struct signals; ctx is the front end. */
bool front_end_next_signal(void *ctx, struct signal_event *event);
/* The exit status, when all is written. */
void front_end_finish(struct front_end *f, int status);

#endif

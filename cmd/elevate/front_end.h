/* SPDX-License-Identifier: MIT */
/* The helper's side of the connection to its front end: see cmd/run/elevation.h. */
#ifndef PROF_CMD_ELEVATE_FRONT_END_H
#define PROF_CMD_ELEVATE_FRONT_END_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cmd/options/live_options.h"
#include "cmd/elevate/signals.h"
#include "lib/base/error.h"
#include "lib/live/machine/child.h"

/* Signals that may be queued; further ones are dropped. */
#define FRONT_END_SIGNALS 16

struct front_end {
	pid_t pid;
	int socket;
	int fetcher; /* socket of the downloading process; -1: none */
	int ready_fd; /* descriptor of --ready-fd; -1: none */
	int control; /* control socket, which listens; -1: none */
	int control_fd, ack_fd; /* descriptors of --control-fd; -1: none */
	int command_fd; /* pidfd of the command; -1: none */
	pid_t command;
	bool gone; /* end of file was seen */
	bool ended; /* the command has ended, with this status: */
	int wait_status;
	uint64_t cpu_ns;
	struct signal_event signals[FRONT_END_SIGNALS];
	size_t signal_count;
};

/*
 * Called by root with the socket as standard input, in a single thread. Checks that the front end,
 * the user for whom sudo runs and the owner of the command are the same. Takes over the front end's
 * standard output, standard error and working directory, and drops the environment.
 */
int front_end_accept(struct front_end *f, struct error *err);
void front_end_release(struct front_end *f);
/* Replaces descriptors in options, which are the front end's numbers, by those received from it. */
void front_end_set_options(struct front_end *f, struct live_options *live);
/* Returns the command, which waits in the front end. */
int front_end_child(struct front_end *f, struct child **out, struct error *err);
/* Has the front end fork a command of that variant, in place of the one before. */
int front_end_fork(struct front_end *f, uint32_t variant, struct child **out, struct error *err);
/* Readable when the front end has sent a message. */
int front_end_fd(const struct front_end *f);
/* Callback for struct signals; ctx is the front end. */
bool front_end_next_signal(void *ctx, struct signal_event *event);
/* Sends the exit status. Call when everything is written. */
void front_end_finish(struct front_end *f, int status);

#endif

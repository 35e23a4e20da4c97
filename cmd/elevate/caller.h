/* SPDX-License-Identifier: MIT */
/* The helper's side of the connection to its caller, see cmd/elevate/elevation.h. */
#pragma once

#include "cmd/options/live_options.h"
#include "cmd/elevate/elevation.h"
#include "lib/live/machine/child.h"

/* Maximum number of queued signals; further ones are dropped. */
#define CALLER_SIGNALS 16

struct caller {
	pid_t pid;
	int socket;
	int fetcher; /* socket of the downloading process; -1: none */
	int ready_fd; /* descriptor of --ready-fd; -1: none */
	int control; /* listening control socket; -1: none */
	int control_fd, ack_fd; /* descriptors of --control-fd; -1: none */
	int command_fd; /* pidfd of the command; -1: none */
	pid_t command;
	bool gone; /* the socket has reached end of file */
	bool ended; /* the command has ended with this status: */
	int wait_status;
	uint64_t cpu_ns;
	struct signal_event signals[CALLER_SIGNALS];
	size_t signal_count;
};

/*
 * Called by root with the socket as standard input, in a single thread. Checks that the caller,
 * the user for whom sudo runs and the owner of the command are the same. Takes over the caller's
 * standard output, standard error and working directory, and drops the environment.
 */
int caller_accept(struct caller *f, struct error *err);
void caller_release(struct caller *f);
/* Replaces the caller's descriptor numbers in the options by the descriptors received. */
void caller_set_options(struct caller *f, struct live_options *live);
/* Returns the command, which is waiting in the caller. */
int caller_child(struct caller *f, struct child **out, struct error *err);
/* Makes the caller fork the variant's command, replacing the previous one. */
int caller_fork(struct caller *f, uint32_t variant, struct child **out, struct error *err);
/* Returns a descriptor that is readable when the caller has sent a message. */
int caller_fd(const struct caller *f);
/* Callback for struct signals; ctx is the caller. */
bool caller_next_signal(void *ctx, struct signal_event *event);
/* Sends the exit status. Call after all output is written. */
void caller_finish(struct caller *f, int status);

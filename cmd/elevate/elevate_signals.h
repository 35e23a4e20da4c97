/* SPDX-License-Identifier: MIT */
/*
 * Reads SIGINT, SIGTERM, SIGHUP and SIGQUIT, and the requests SIGUSR1 and SIGUSR2, as events
 * instead of handling them, even if prof was started with SIGINT ignored, as a shell does for jobs
 * in the background.
 */
#ifndef PROF_CMD_ELEVATE_ELEVATE_SIGNALS_H
#define PROF_CMD_ELEVATE_ELEVATE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"

struct signal_event {
	int signal;
	bool from_terminal; /* the command got it, too */
};

struct signals {
	int fd; /* readable when one has arrived */
	/* State at the start of prof, restored for the command. */
	sigset_t inherited_mask, inherited_ignored;
	int last_signal; /* the last signal, its sender and time */
	pid_t last_sender;
	uint64_t last_ns;
	/* Returns signals that another process received for this one; NULL: none. */
	bool (*next_elsewhere)(void *ctx, struct signal_event *event);
	void *ctx;
};

/* Does the signal ask for something, while recording goes on? */
static inline bool signal_is_request(int number)
{
	return number == SIGUSR1 || number == SIGUSR2;
}

/* Ignores SIGPIPE and SIGXFSZ from now on; the signals above arrive only here. */
int signals_init(struct signals *s, struct error *err);
/*
 * Stores the next signal; false if none. An immediate repetition by the same sender is one
 * event: timeout(1) signals first the process and then its whole group.
 */
bool signals_next(struct signals *s, struct signal_event *event);
/* Restores the signals for a program to be executed. */
void signals_restore(const struct signals *s);
/* Leaves the dispositions as they are. */
void signals_release(struct signals *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads SIGINT, SIGTERM, SIGHUP and SIGQUIT, and the requests SIGUSR1 and SIGUSR2, as events. Works
 * even if prof was started with SIGINT ignored, as a shell does for background jobs.
 */
#pragma once

#include <signal.h>

#include "lib/base/base.h"

struct signal_event {
	int signal;
	bool from_terminal; /* from the terminal, so the command received the signal as well */
};

struct signals {
	int fd; /* readable when a signal has arrived */
	/* State at the start of prof, restored for the command. */
	sigset_t inherited_mask, inherited_ignored;
	int last_signal; /* last signal with its sender and time */
	pid_t last_sender;
	uint64_t last_ns;
	/* Returns signals that another process received for this one; NULL: none. */
	bool (*next_elsewhere)(void *ctx, struct signal_event *event);
	void *ctx;
};

/* True for signals that request something without ending the recording. */
static inline bool signal_is_request(int number)
{
	return number == SIGUSR1 || number == SIGUSR2;
}

/* Ignores SIGPIPE and SIGXFSZ from now on. The signals above arrive only as events. */
int signals_init(struct signals *s, struct error *err);
/*
 * Stores the next signal; false if there is none. Immediate repetition by the same sender counts
 * once: timeout(1) signals first the process and then its whole group.
 */
bool signals_next(struct signals *s, struct signal_event *event);
/* Restores the signals before another program is executed. */
void signals_restore(const struct signals *s);
/* Leaves the signals' dispositions unchanged. */
void signals_release(struct signals *s);

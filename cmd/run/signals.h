/* SPDX-License-Identifier: MIT */
/*
 * SIGINT, SIGTERM, SIGHUP and SIGQUIT as readable events instead of handlers, also where prof was
 * started with SIGINT ignored, as a shell does for jobs in the background.
 */
#ifndef PROF_CMD_RUN_SIGNALS_H
#define PROF_CMD_RUN_SIGNALS_H

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
	/* As prof was started, for the command to get back. */
	sigset_t inherited_mask, inherited_ignored;
	int last_signal; /* the last one and who sent it when */
	pid_t last_sender;
	uint64_t last_ns;
	/* Those that another process got in place of this one; NULL: none. */
	bool (*next_elsewhere)(void *ctx, struct signal_event *event);
	void *ctx;
};

/* From here on SIGPIPE and SIGXFSZ are ignored, and the four only arrive here. */
int signals_init(struct signals *s, struct error *err);
/*
 * The next one, or false where there is none. A sender's immediate repetition is one event:
 * timeout(1), for one, signals first the process and then its whole group.
 */
bool signals_next(struct signals *s, struct signal_event *event);
/* For a program to be executed: as prof was started. */
void signals_restore(const struct signals *s);
/* Leaves the dispositions as they are. */
void signals_release(struct signals *s);

#endif

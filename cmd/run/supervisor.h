/* SPDX-License-Identifier: MIT */
/*
 * Decides when a recording ends and what prof's exit status then is: by the end of the command or
 * of the processes that were attached to, the duration, or a signal.
 */
#ifndef PROF_CMD_RUN_SUPERVISOR_H
#define PROF_CMD_RUN_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/run/signals.h"
#include "lib/base/error.h"
#include "lib/live/machine/child.h"
#include "lib/live/process/targets.h"

enum stop_reason {
	STOP_NOT_YET,
	STOP_CHILD_ENDED,
	STOP_TARGETS_ENDED,
	STOP_DURATION,
	STOP_SIGNAL,
	STOP_GAVE_UP, /* the recorder failed; the command goes on */
};

struct supervisor {
	struct signals *signals; /* borrowed */
	struct child *child; /* borrowed; NULL: nothing was started */
	struct targets *targets; /* borrowed; NULL: nothing whose end is waited for */
	int timer_fd; /* -1: no duration */
	bool kill_at_end;
	enum stop_reason reason;
	int stop_signal; /* of STOP_SIGNAL */
	bool interrupted; /* once from the terminal: the command decides when it ends */
	bool hurried; /* a signal has come since sampling ended */
	bool child_ended;
	int wait_status; /* where child_ended */
	/* CLOCK_MONOTONIC when the reason came up, or the command ended after it. */
	uint64_t stop_ns;
};

/* The duration (0: none) starts with supervisor_start(). */
int supervisor_init(struct supervisor *s, struct signals *signals, struct error *err);
void supervisor_release(struct supervisor *s);
/* Call when the command has been executed, or all is armed where there is none. */
int supervisor_start(struct supervisor *s, uint64_t duration_ns, struct error *err);
/* Looks after command or targets, signals and time. True from when sampling is to end. */
bool supervisor_poll(struct supervisor *s);
/* There is no recording any more. */
void supervisor_abandon(struct supervisor *s);
/*
 * After sampling has ended: gives the command the time it has to end by itself after a signal, or
 * ends it where --kill was given. Another signal cuts the waiting short.
 */
void supervisor_settle(struct supervisor *s);
/* Has one more signal come since sampling ended? Then finish with what there is. */
bool supervisor_finish_now(struct supervisor *s);
/* What prof exits with, as long as nothing of its own fails. */
int supervisor_exit_status(const struct supervisor *s);

#endif

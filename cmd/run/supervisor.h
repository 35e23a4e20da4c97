/* SPDX-License-Identifier: MIT */
/*
 * Decides when a recording ends and with which exit status: after the command or the attached
 * processes have ended, after the duration, or on a signal.
 */
#pragma once

#include "cmd/elevate/elevation.h"
#include "lib/live/machine/child.h"
#include "lib/live/process/targets.h"

enum stop_reason {
	STOP_NOT_YET,
	STOP_CHILD_ENDED,
	STOP_TARGETS_ENDED,
	STOP_DURATION,
	STOP_SIGNAL,
	STOP_ABANDONED, /* the recorder failed; the command continues */
};

struct supervisor {
	struct signals *signals; /* borrowed */
	struct child *child; /* borrowed; NULL: there is no command */
	struct targets *targets; /* borrowed; NULL: not attached to a process */
	int timer_fd; /* -1: unlimited duration */
	bool kill_at_end;
	enum stop_reason reason;
	int stop_signal; /* signal number for STOP_SIGNAL */
	/* interrupted once from the terminal: recording lasts as long as the command */
	bool interrupted;
	unsigned int requests[2]; /* pending SIGUSR1 and SIGUSR2, which the caller takes */
	unsigned int finish_signals; /* signals received since sampling ended */
	bool child_ended;
	int wait_status; /* valid if child_ended */
	/* CLOCK_MONOTONIC time of the reason, or of the end of the command if later. */
	uint64_t stop_ns;
};

/* Initializes; the duration starts with supervisor_start(). */
int supervisor_init(struct supervisor *s, struct signals *signals, struct error *err);
void supervisor_release(struct supervisor *s);
/*
 * Starts the duration (0: unlimited). Call when the command has been executed, or everything is
 * armed.
 */
int supervisor_start(struct supervisor *s, uint64_t duration_ns, struct error *err);
/* Polls command, targets, signals and time. True if sampling must end. */
bool supervisor_poll(struct supervisor *s);
/* Ends the recording as if its time were over. */
void supervisor_end(struct supervisor *s);
/* Continues with the next child after supervisor_poll() reported the end of the previous one. */
void supervisor_next(struct supervisor *s, struct child *child);
/* Ends the recording after an error. */
void supervisor_abandon(struct supervisor *s);
/*
 * Gives the command time to end after a signal, or kills it with --kill. Call after sampling has
 * ended. A further signal cuts the wait short.
 */
void supervisor_settle(struct supervisor *s);
/*
 * Returns the number of signals since sampling ended. One: finish with the data at hand. More:
 * abandon the profile.
 */
unsigned int supervisor_finish_signals(struct supervisor *s);
/* Returns prof's exit status, unless prof itself fails. */
int supervisor_exit_status(const struct supervisor *s);

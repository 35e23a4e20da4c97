/* SPDX-License-Identifier: MIT */
/*
 * What prof is doing, on a terminal: a line that stays when recording begins, and one that is
 * updated in place and goes away. Nothing where stderr is no terminal that can erase a line, or
 * prof is in the terminal's background.
 */
#ifndef PROF_CMD_TEXT_PROGRESS_H
#define PROF_CMD_TEXT_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct progress {
	bool enabled; /* stderr is a terminal that can erase a line */
	bool in_place; /* also while recording: nobody else writes there */
	bool shown;
	pid_t group; /* the process group that is to be in front for it */
	uint64_t start_ns, next_ns; /* CLOCK_MONOTONIC */
	uint64_t interrupt_ns; /* 0: the command was not interrupted; UINT64_MAX: that is said */
};

/* front: the process that has the terminal in prof's place; 0: prof itself. */
void progress_init(struct progress *progress, bool quiet, pid_t front);
/*
 * "recording WHAT, Ctrl-C ends it"; duration_ns 0: no limit. A command that writes to the same
 * terminal has it for itself while it runs: `shared` as far as its standard output goes.
 */
void progress_begin(struct progress *progress, const char *what, uint64_t duration_ns, bool shared);
/* Takes that line back: the command could not be executed. */
void progress_withdraw(struct progress *progress);
/* At most once a second. `interrupted`: by Ctrl-C, and the command goes on. */
void progress_recording(struct progress *progress, uint64_t samples, uint64_t lost,
			bool interrupted);
void progress_symbolize(struct progress *progress, size_t done, size_t count);
/* Bytes; size 0: unknown. */
void progress_download(struct progress *progress, const char *path, uint64_t done, uint64_t size);
void progress_erase(struct progress *progress);

/* Do both descriptors lead to one terminal? */
bool progress_is_same_terminal(int a, int b);

#endif

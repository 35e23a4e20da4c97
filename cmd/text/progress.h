/* SPDX-License-Identifier: MIT */
/*
 * Shows progress on a terminal: a line that stays when recording begins, and one that is updated in
 * place and erased. Prints nothing if stderr is not a terminal or prof runs in the background. A
 * terminal that cannot erase a line (TERM=dumb) only gets a hint after an interrupt. Other outputs
 * get lines with --progress.
 */
#pragma once

#include "cmd/options/output_options.h"
#include "lib/recording/workplace/naming.h"
#include "symbolize/source_texts.h"

/* Steps after recording has ended. */
enum progress_phase {
	PROGRESS_DRAIN,
	PROGRESS_NAMES,
	PROGRESS_SOURCES,
	PROGRESS_WRITE,
};

struct progress {
	enum progress_style style;
	bool enabled; /* stderr is a terminal on which a line can be erased */
	bool says_interrupts; /* stderr is a terminal of any kind */
	bool in_place; /* updates continue while recording, because no other process writes to the
			  terminal */
	bool shown, is_paused;
	pid_t group; /* process group that must be in the foreground */
	uint64_t start_ns, next_ns; /* CLOCK_MONOTONIC */
	/* 1 + the last phase printed in lines, and its start. */
	unsigned int phase;
	uint64_t phase_ns;
	uint64_t interrupt_ns; /* time of the interrupt; 0: none; UINT64_MAX: message already
				  printed */
};

/* front: the process that owns the terminal instead of prof; 0: prof itself. */
void progress_init(struct progress *progress, bool quiet, enum progress_style style, pid_t front);
/*
 * Shows "recording WHAT, Ctrl-C ends it"; duration_ns 0: no limit. `shared`: the command's standard
 * output is the same terminal, so leave it alone while the command runs.
 */
void progress_begin(struct progress *progress, const char *what, uint64_t duration_ns, bool shared);
/* Erases that line because the command could not be executed. */
void progress_withdraw(struct progress *progress);
/* Updates at most once a second. `interrupted`: by Ctrl-C, with the command still running. */
void progress_recording(struct progress *progress, uint64_t samples, uint64_t lost,
			bool interrupted);
/* Shows that recording pauses or resumes. */
void progress_paused(struct progress *progress, bool is_paused);
/* Shows that `done` of `count` are finished; count 0: unknown. */
void progress_step(struct progress *progress, enum progress_phase phase, size_t done, size_t count);
/* Sizes are in bytes; size 0: unknown. */
void progress_download(struct progress *progress, const char *path, uint64_t done, uint64_t size);
void progress_erase(struct progress *progress);

/* Shows the progress of naming. `wish` decides whether naming continues; may be NULL. */
struct progress_naming {
	struct progress progress;
	enum workers_wish (*wish)(void *ctx);
	void *ctx;
};

/* Sets the reporting callbacks of `naming`, and of `sources` unless NULL. */
void progress_naming_begin(struct progress_naming *p, bool quiet, enum progress_style style,
			   pid_t front, struct naming *naming, struct sources_options *sources);
void progress_naming_end(struct progress_naming *p);

/* True if both descriptors refer to the same terminal. */
bool progress_is_same_terminal(int a, int b);

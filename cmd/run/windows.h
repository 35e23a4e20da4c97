/* SPDX-License-Identifier: MIT */
/*
 * A recording whose windows go to engines while it goes on, --push. Other processes name and send
 * them; recording never waits for these.
 */
#ifndef PROF_CMD_RUN_WINDOWS_H
#define PROF_CMD_RUN_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/run/window_converter.h"
#include "lib/base/error.h"

struct pipeline;

struct windows {
	int socket; /* to the converter; -1: there is none */
	pid_t guard; /* the process that looks after the others; 0: none */
	struct window_job job; /* the one that is out */
	bool is_out;
	uint64_t waiting_lost; /* samples given up that no job has told yet */
	uint64_t lost_windows, lost_samples; /* so far, before the pushers had them */
	struct push_report report; /* the latest */
	uint64_t count; /* windows handed over */
	uint64_t alive_ns; /* of the latest sign of life */
	bool has_warned; /* of a --status that cannot be written */
};

#define WINDOWS_INIT ((struct windows){.socket = -1})

/* Does the recording go to engines? */
bool windows_are_on(const struct pipeline *p);
/* Starts the processes, if the options want it. Call while there is one thread. */
int windows_open(struct pipeline *p, struct error *err);
int windows_watch(struct pipeline *p, struct error *err);
/* Hands over what is complete. Call often. */
void windows_poll(struct pipeline *p);
/* Sampling has ended: hands over the rest, and waits for a while until it is sent. */
int windows_finish(struct pipeline *p, struct error *err);
void windows_release(struct windows *w);

#endif

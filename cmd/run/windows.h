/* SPDX-License-Identifier: MIT */
/*
 * Pushes windows to engines during a recording, --push. Other processes name and send the windows;
 * recording never waits for them.
 */
#pragma once

#include "cmd/run/window_converter.h"

struct pipeline;

struct windows {
	int socket; /* socket to the converter; -1: none */
	pid_t guard; /* the process that monitors the others; 0: none */
	struct window_job job; /* the pending job */
	bool is_out;
	uint64_t waiting_lost; /* dropped samples that no job has reported yet */
	uint64_t lost_windows, lost_samples; /* losses so far, before the pushers */
	struct push_report report; /* latest report */
	uint64_t count; /* number of windows handed over */
	uint64_t alive_ns; /* time of the last sign of life */
	bool has_warned; /* a warning about an unwritable --status was printed */
};

#define WINDOWS_INIT ((struct windows){.socket = -1})

/* True if the recording is pushed to engines. */
bool windows_are_on(const struct pipeline *p);
/* Starts the processes if the options require them. Call while there is one thread. */
int windows_open(struct pipeline *p, struct error *err);
int windows_watch(struct pipeline *p, struct error *err);
/* Hands over complete windows. Call often. */
void windows_poll(struct pipeline *p);
/*
 * Hands over the remaining windows after sampling, and waits until they are sent, for a limited
 * time.
 */
int windows_finish(struct pipeline *p, struct error *err);
void windows_release(struct windows *w);

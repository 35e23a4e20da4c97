/* SPDX-License-Identifier: MIT */
/*
 * Resource attributes of processes, see lib/stream/process/resource.h: those that they set in their
 * environments, and those that they publish in memory (OpenTelemetry's process context).
 */
#pragma once

#include "lib/live/process/late_reader.h"
#include "lib/live/process/live_process.h"
#include "lib/stream/record/records.h"

struct resource_watch {
	struct live_processes *processes;
	struct process_state state;
	struct late_reader reader;
	bool reads_environment;
	bool is_any_told; /* a resource was sent: from now on, also send processes without one */
	uint32_t at; /* number of the next process to poll */
	uint64_t now; /* start of the last round */
};

/* `processes` is borrowed. Call before the first process is added. */
void resource_watch_init(struct resource_watch *w, struct live_processes *processes,
			 bool reads_environment);
void resource_watch_release(struct resource_watch *w);
/*
 * Sends a REC_RESOURCE for the process in its current state, by its environment. A process that has
 * ended, or whose user could not read its environment, keeps its parent's resource.
 */
void resource_watch_send(struct resource_watch *w, uint32_t pid, uint64_t time,
			 record_sink_fn *sink, void *ctx);
/*
 * Polls some processes for what they have published since, and sends a REC_RESOURCE for each that
 * has. New processes are polled more often. `time`: the start of this round.
 */
void resource_watch_poll(struct resource_watch *w, uint64_t time, record_sink_fn *sink, void *ctx);

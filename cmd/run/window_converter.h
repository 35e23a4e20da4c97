/* SPDX-License-Identifier: MIT */
/*
 * The process that makes named profiles of windows and hands them to one pusher per engine. It
 * takes no part in recording, and can be restarted.
 */
#pragma once

#include "cmd/options/output_options.h"
#include "cmd/options/pipeline_options.h"
#include "lib/base/identity.h"
#include "lib/fleet/request_process.h"
#include "lib/recording/workplace/function_code.h"
#include "lib/stream/capture/capture_format.h"
#include "symbolize/name_cache.h"

/* A window handed out by the recorder. */
struct window_job {
	struct capture_window window; /* zeroed: the recording has ended */
	uint64_t lost; /* samples dropped before the window */
};

/* The answer, sent once every pusher has the window. */
struct window_answer {
	uint64_t start_ns; /* start of the window */
	uint64_t lost_windows, lost_samples; /* windows that could not be read, and their samples */
	struct push_report sums; /* sums over all pushers */
};

/* State that survives a converter, in shared memory. */
struct window_memory {
	struct capture_window last; /* last window handed over */
	uint64_t start_ns; /* start of the window in progress */
	unsigned int attempts; /* number of attempts at the window in progress */
};

struct window_converter {
	const struct push_options *push;
	const struct output_options *output;
	const struct identity *owner;
	int capture, jobs; /* descriptors */
	VEC(int) pushers; /* sockets to the pushers */
	struct window_memory *memory;
	struct read_contents contents; /* contents of deleted files */
	struct name_cache *cache;
};

/* The process that starts, monitors and restarts the converter and the pushers. */

/* Exit status of the guard if unsent windows are left, in memory or in the folder. */
#define WINDOW_GUARD_UNSENT 3
#define WINDOW_GUARD_WAITING 4

/*
 * Becomes the guard process and never returns. Takes over n->capture and n->jobs, and closes all
 * other descriptors except the standard ones. Exits after the recorder, once the other processes
 * have ended.
 */
void window_guard_run(struct window_converter *n) __attribute__((noreturn));

/* SPDX-License-Identifier: MIT */
/*
 * A part of a capture that is a capture itself, after another header: what is kept if only the end
 * is, or one of the windows that follow each other.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_CAPTURE_WINDOW_H
#define PROF_LIB_STREAM_CAPTURE_CAPTURE_WINDOW_H

#include <stdint.h>

struct capture_window {
	uint64_t at, end; /* bytes from its first frame to its end */
	uint64_t start_ns; /* of its first record; CLOCK_MONOTONIC */
	uint64_t end_ns; /* beginning of the next one; 0: the recording's end */
	uint64_t next_at; /* place of the next one; 0: there is none yet */
	uint64_t held; /* samples in it; 0: not known */
	uint64_t start_realtime_ns; /* by CLOCK_REALTIME, which the writer does not know */
	uint64_t sequence, samples; /* as the next frame will tell them */
};

/*
 * Copies it from a capture that may still grow, and completes it: a header of its own, its frames,
 * the frame that ends it. 0 or a negative errno.
 */
int capture_window_copy(const struct capture_window *w, int from, int to);

#endif

/* SPDX-License-Identifier: MIT */
/* Batches of records that the adding thread of a capture writer hands to the writing one. */
#ifndef PROF_LIB_STREAM_CAPTURE_CAPTURE_BATCH_H
#define PROF_LIB_STREAM_CAPTURE_CAPTURE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/stream/capture/capture_contents.h"
#include "lib/stream/capture/capture_format.h"

/* The records of a frame, not packed yet; or contents, which become records when written. */
struct capture_batch {
	struct capture_batch *next;
	struct capture_contents *contents; /* NULL: none */
	struct capture_frame frame;
	uint64_t begin_ns; /* when its first record was added */
	size_t size;
	uint8_t data[CAPTURE_RAW_MAX];
};

#endif

/* SPDX-License-Identifier: MIT */
/* Reads frames ahead in a thread of its own, so that unpacking them and using them go on at once.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_FRAME_AHEAD_H
#define PROF_LIB_STREAM_CAPTURE_FRAME_AHEAD_H

#include "lib/stream/capture/frame_reader.h"

struct frame_ahead;

/* The reader is borrowed, and from the first frame on nobody else's. */
struct frame_ahead *frame_ahead_new(struct frame_reader *reader);
/* Ends reading. NULL is fine. */
void frame_ahead_free(struct frame_ahead *a);
/* Returns the next result, valid until the next call; the last one again and again. */
const struct frame_contents *frame_ahead_next(struct frame_ahead *a);

#endif

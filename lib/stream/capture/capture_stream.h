/* SPDX-License-Identifier: MIT */
/*
 * Reads a capture from a pipe while it is written. A pipe cannot be reread, so any damage ends the
 * stream.
 */
#pragma once

#include "lib/stream/capture/capture_format.h"
#include "lib/stream/record/source.h"

struct capture_stream;

/* Borrows the descriptor, which must be non-blocking. */
struct capture_stream *capture_stream_new(int fd);
/* Accepts NULL. */
void capture_stream_free(struct capture_stream *s);
/*
 * Returns a source that yields records as they arrive, and SOURCE_IDLE when none are available yet.
 * Its `files` is NULL. -EBADMSG if the capture is damaged.
 */
struct source *capture_stream_source(struct capture_stream *s);
/*
 * True if the last record read repeats earlier state; sets *begins if it is the first such record.
 */
bool capture_stream_is_state(const struct capture_stream *s, bool *begins);
/* Returns the number of samples in blocks that were dropped before they were written. */
uint64_t capture_stream_lost(const struct capture_stream *s);

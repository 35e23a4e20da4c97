/* SPDX-License-Identifier: MIT */
/*
 * Reads a capture while it is written, from a pipe. Unlike files, whose parts can be read again, it
 * must be whole: damage ends it.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_CAPTURE_STREAM_H
#define PROF_LIB_STREAM_CAPTURE_CAPTURE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/record/source.h"

struct capture_stream;

/* The descriptor is borrowed, and does not block. */
struct capture_stream *capture_stream_new(int fd);
/* NULL is fine. */
void capture_stream_free(struct capture_stream *s);
/*
 * A source whose records come as they are there: SOURCE_IDLE where the next ones are not written
 * yet. Its files are NULL. -EBADMSG if it is damaged.
 */
struct source *capture_stream_source(struct capture_stream *s);
/* True if the record read last repeats what was before; *begins if it is the first one that does.
 */
bool capture_stream_is_state(const struct capture_stream *s, bool *begins);
/* Returns the number of samples in frames that were not written. */
uint64_t capture_stream_lost(const struct capture_stream *s);

#endif

/* SPDX-License-Identifier: MIT */
/* Headers of captures and their frames, checked, and the records of a frame. */
#ifndef PROF_LIB_STREAM_CAPTURE_FRAME_UNPACKER_H
#define PROF_LIB_STREAM_CAPTURE_FRAME_UNPACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/stream/capture/capture_format.h"

struct frame_unpacker;

/* Keeps memory between frames, and nothing else. */
struct frame_unpacker *frame_unpacker_new(void);
/* NULL is fine. */
void frame_unpacker_free(struct frame_unpacker *u);
/*
 * Unpacks the f->packed_size bytes of a frame of that version, whose header is good, into `raw`,
 * which has room for CAPTURE_RAW_MAX: f->raw_size are set. False: they are damaged.
 */
bool frame_unpacker_unpack(struct frame_unpacker *u, uint32_t version,
			   const struct capture_frame *f, const uint8_t *packed, uint8_t *raw);

/* 0, or -EBADMSG: it is damaged, or of a later version. `size`: bytes of it that were read. */
int capture_header_check(const struct capture_header *h, size_t size, struct error *err);
/* Tells whether the header of a frame is whole, and its sizes have limits. */
bool capture_frame_is_good(const struct capture_frame *f);

#endif

/* SPDX-License-Identifier: MIT */
/* Records → a frame of a capture, packed. */
#ifndef PROF_LIB_STREAM_CAPTURE_FRAME_PACKER_H
#define PROF_LIB_STREAM_CAPTURE_FRAME_PACKER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/stream/capture/capture_format.h"

struct frame_packer;

/* Keeps memory between frames, and nothing else. */
struct frame_packer *frame_packer_new(void);
/* NULL is fine. */
void frame_packer_free(struct frame_packer *p);
/*
 * Packs whole records and completes the frame's header: its sizes, checks and
 * CAPTURE_FRAME_COLUMNS. Returns header and packed bytes, valid until the next call; NULL: memory
 * ended.
 */
const uint8_t *frame_packer_pack(struct frame_packer *p, struct capture_frame *frame,
				 uint8_t *records, size_t size, size_t *bytes);

#endif

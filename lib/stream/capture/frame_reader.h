/* SPDX-License-Identifier: MIT */
/*
 * Reads the frames of a capture file, one after the other, and unpacks them. Trusts nothing in it:
 * after damage it goes on at the next frame that is whole.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_FRAME_READER_H
#define PROF_LIB_STREAM_CAPTURE_FRAME_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/capture_reader.h"

/* Headers of captures and their frames, checked, and the records of a frame. */

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

struct frame_reader;

/* A result of frame_reader_next(), and the frame. */
struct frame_contents {
	int result;
	struct capture_frame frame;
	bool is_past; /* only the facts in it are wanted */
	/* Windows: belongs to the next one, or is read for the one before, too. */
	bool is_late, is_early;
	bool is_after_gap; /* frames are missing before it, with this many samples: */
	uint64_t lost_samples;
	struct capture_counts counts; /* so far, without those of records */
	uint8_t *raw; /* the caller's: CAPTURE_RAW_MAX bytes, of which frame.raw_size are set */
};

/* Same contract as capture_reader_open(). */
int frame_reader_open(struct frame_reader **out, int fd, struct error *err);
/* NULL is fine. */
void frame_reader_free(struct frame_reader *r);
/* Same contract as capture_reader_select(). */
int frame_reader_select(struct frame_reader *r, uint64_t from_ns, uint64_t to_ns,
			struct error *err);
/* Same contract as capture_reader_limit(); the caller chooses among the records. */
void frame_reader_limit(struct frame_reader *r, uint64_t end_ns);
const struct capture_header *frame_reader_header(const struct frame_reader *r);
/* 1: there is another frame; 0: the file ends; -EFBIG: it holds too much; else why reading failed.
 */
int frame_reader_next(struct frame_reader *r, struct frame_contents *out);

#endif

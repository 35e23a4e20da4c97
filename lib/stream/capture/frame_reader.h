/* SPDX-License-Identifier: MIT */
/*
 * Reads the blocks of a capture file in order, and unpacks them. Trusts nothing in it: after
 * damage, reading continues at the next whole block.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_FRAME_READER_H
#define PROF_LIB_STREAM_CAPTURE_FRAME_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/capture_reader.h"

/* Checks headers of captures and blocks, and unpacks the records of a block. */

struct frame_unpacker;

/* Keeps only memory between blocks. */
struct frame_unpacker *frame_unpacker_new(void);
/* Accepts NULL. */
void frame_unpacker_free(struct frame_unpacker *u);
/*
 * Unpacks the f->packed_size bytes of a block of that version, with a valid header, into the first
 * f->raw_size bytes of `raw`, which has room for CAPTURE_RAW_MAX. Returns false if they are
 * damaged.
 */
bool frame_unpacker_unpack(struct frame_unpacker *u, uint32_t version,
			   const struct capture_frame *f, const uint8_t *packed, uint8_t *raw);

/* Returns 0, or -EBADMSG if damaged or of a later version. `size`: number of header bytes read. */
int capture_header_check(const struct capture_header *h, size_t size, struct error *err);
/* True if the header of a block is intact and its sizes are within the limits. */
bool capture_frame_is_good(const struct capture_frame *f);

struct frame_reader;

/* A result of frame_reader_next(), and the block. */
struct frame_contents {
	int result;
	struct capture_frame frame;
	bool is_past; /* only the facts in it are needed */
	/* Windows: belongs to the next one, or is also read for the previous one. */
	bool is_late, is_early;
	bool is_after_gap; /* blocks are missing before it, with this many samples: */
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
/* Same contract as capture_reader_limit(); the caller selects the records. */
void frame_reader_limit(struct frame_reader *r, uint64_t end_ns);
const struct capture_header *frame_reader_header(const struct frame_reader *r);
/* Returns 1 for a block, 0 at the end, -EFBIG if the file holds too much, or another read error. */
int frame_reader_next(struct frame_reader *r, struct frame_contents *out);

#endif

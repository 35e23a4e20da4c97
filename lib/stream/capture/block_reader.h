/* SPDX-License-Identifier: MIT */
/*
 * Reads the blocks of a capture file in order, and unpacks them. Trusts no bytes of the file: after
 * damage, reading continues at the next whole block.
 */
#pragma once

#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/capture_reader.h"

/* Checks headers of captures and blocks, and unpacks the records of a block. */

struct block_unpacker;

/* The unpacker keeps only buffers between blocks. */
struct block_unpacker *block_unpacker_new(void);
/* Accepts NULL. */
void block_unpacker_free(struct block_unpacker *u);
/*
 * Unpacks block->packed_size bytes of a block with a valid header, written by that version, into
 * the first block->raw_size bytes of `raw`, which has room for CAPTURE_RAW_MAX. Returns false if
 * they are damaged.
 */
bool block_unpacker_unpack(struct block_unpacker *u, uint32_t version,
			   const struct capture_block *block, const uint8_t *packed, uint8_t *raw);

/*
 * Returns 0, or -EBADMSG if the header is damaged or of a later version. `size`: number of header
 * bytes read.
 */
int capture_header_check(const struct capture_header *h, size_t size, struct error *err);
/* True if the header of a block is intact and its sizes are within the limits. */
bool capture_block_is_good(const struct capture_block *block);

struct block_reader;

/* Output of block_reader_next(): the block and its context. */
struct block_contents {
	int result;
	struct capture_block block;
	bool is_past; /* the block lies after the selected part; only its facts are needed */
	/*
	 * With windows: the block belongs to the next window, or is also read for the previous
	 * window.
	 */
	bool is_late, is_early;
	bool is_after_gap; /* blocks before it are missing, with this many samples: */
	uint64_t lost_samples;
	struct capture_counts counts; /* counts so far, without the record counts */
	/* caller's buffer of CAPTURE_RAW_MAX bytes; the first block.raw_size are set */
	uint8_t *raw;
};

/* Has the same contract as capture_reader_open(). */
int block_reader_open(struct block_reader **out, int fd, struct error *err);
/* Accepts NULL. */
void block_reader_free(struct block_reader *r);
/* Has the same contract as capture_reader_select(). */
int block_reader_select(struct block_reader *r, uint64_t from_ns, uint64_t to_ns,
			struct error *err);
/* Has the same contract as capture_reader_limit(), except that the caller selects the records. */
void block_reader_limit(struct block_reader *r, uint64_t end_ns);
const struct capture_header *block_reader_header(const struct block_reader *r);
/*
 * Returns 1 for a block, 0 at the end, -EFBIG if the file holds too much, or any other read error.
 */
int block_reader_next(struct block_reader *r, struct block_contents *out);

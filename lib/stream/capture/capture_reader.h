/* SPDX-License-Identifier: MIT */
/*
 * Reads a capture file as a source of records. Trusts no bytes of the file: after damage, reading
 * continues at the next whole block. Samples of missing blocks are reported by a REC_LOST with
 * LOST_CAPTURE.
 */
#pragma once

#include "lib/stream/capture/capture_format.h"
#include "lib/stream/record/records.h"

/*
 * Reads a capture from a pipe while it is written. A pipe cannot be reread, so any damage ends the
 * stream.
 */

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

/* Contents of a file to be written to a capture, as parts that become REC_FILE records. */

/* A part of a file. */
struct capture_part {
	uint64_t offset, size;
	void *bytes; /* from malloc(), owned; NULL: read from the file */
};

struct capture_contents {
	uint32_t module_id;
	int fd; /* owned */
	struct capture_part *parts; /* owned */
	size_t count;
	size_t part; /* next part to read */
	uint64_t at; /* position in the next part */
};

/* Accepts NULL. */
void capture_contents_free(struct capture_contents *c);
/*
 * Writes the next piece as a record; `into` has room for a record of the maximum size. Returns its
 * size, 0 at the end. Skips unreadable parts.
 */
size_t capture_contents_next(struct capture_contents *c, void *into);

struct capture_reader;

struct capture_counts {
	uint64_t blocks, records; /* number read so far */
	uint64_t end_ns; /* latest record time so far; 0: no record yet */
	uint64_t lost_samples; /* samples in missing blocks */
	uint64_t skipped_bytes; /* bytes outside of whole blocks */
	uint64_t unknown_records; /* records of unknown kinds, and damaged records */
	bool is_complete; /* the recording ended normally, and the reader has reached its end */
};

/* True for the first `size` bytes of a capture file. */
bool capture_is_one(const void *bytes, size_t size);

/*
 * Reads the header. -EBADMSG if it is damaged or of a later version. Borrows the descriptor until
 * capture_reader_free(), and reads from offset 0; it must be a file.
 */
int capture_reader_open(struct capture_reader **out, int fd, struct error *err);
void capture_reader_free(struct capture_reader *r);
/* Returns a borrowed source whose `files` is NULL. A read error ends it. */
struct source *capture_reader_source(struct capture_reader *r);
/*
 * Limits reading to the CLOCK_MONOTONIC times from from_ns to to_ns: starts at the latest epoch
 * that begins by from_ns, and ends shortly after to_ns. All contents of files and the facts at the
 * end are read as well. Call before the first record.
 */
int capture_reader_select(struct capture_reader *r, uint64_t from_ns, uint64_t to_ns,
			  struct error *err);
/*
 * Reads a window that ends at end_ns (CLOCK_MONOTONIC). Also reads late stacks and records of this
 * window from the next one; the reader of the next window skips these, so each is in exactly one
 * window. Call before the first record.
 */
void capture_reader_limit(struct capture_reader *r, uint64_t end_ns);
/* True if the last record read repeats earlier state. */
bool capture_reader_is_state(const struct capture_reader *r);
/* True if the last record read begins an epoch: later records refer to no earlier stack. */
bool capture_reader_begins_epoch(const struct capture_reader *r);
const struct capture_header *capture_reader_header(const struct capture_reader *r);
void capture_reader_count(const struct capture_reader *r, struct capture_counts *counts);

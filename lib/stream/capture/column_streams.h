/* SPDX-License-Identifier: MIT */
/*
 * Streams of numbers that are written or read by the same calls: code that says what follows what
 * is written once, for both directions, and cannot disagree with itself.
 */
#ifndef PROF_LIB_STREAM_CAPTURE_COLUMN_STREAMS_H
#define PROF_LIB_STREAM_CAPTURE_COLUMN_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"

#define COLUMN_STREAMS 35

struct column_streams {
	bool is_decoding;
	bool failed; /* decoding: the bytes are damaged; stays set */
	VEC(uint8_t) written[COLUMN_STREAMS]; /* encoding */
	struct {
		const uint8_t *at, *end;
	} read[COLUMN_STREAMS]; /* decoding */
	VEC(uint8_t) whole; /* encoding: all of them */
};

void column_streams_release(struct column_streams *s);
void column_streams_begin_encoding(struct column_streams *s);
/* False: the sizes are damaged. There are `count` streams; others are empty. Borrows the bytes. */
bool column_streams_begin_decoding(struct column_streams *s, const uint8_t *bytes, size_t size,
				   size_t count);
/* Returns all that was written, valid until the next beginning. */
const uint8_t *column_streams_end(struct column_streams *s, size_t *size);

/* Each writes the value and returns it, or returns the one that is read. */
uint64_t column_number(struct column_streams *s, unsigned int stream, uint64_t value);
uint8_t column_byte(struct column_streams *s, unsigned int stream, uint8_t value);
/* Small ones of either sign take few bytes. */
int64_t column_signed(struct column_streams *s, unsigned int stream, int64_t value);
/* The bytes are written, or filled. */
void column_bytes(struct column_streams *s, unsigned int stream, void *bytes, size_t size);

/*
 * Values that occurred before, by number. Zeroed is empty. A secret seed keeps forged values from
 * having the same hash, all of them.
 */
struct column_values {
	uint64_t seed;
	bool is_found; /* decoding needs to find values, too */
	VEC(uint64_t) rows;
	struct index by_value;
};

void column_values_release(struct column_values *v);
void column_values_clear(struct column_values *v);
/* Returns the row of the value, new or not. Decoding: only where values are found. */
uint32_t column_values_add(struct column_values *v, uint64_t value);
/*
 * A value that is probably among them: its number, or 0 and, in the next stream, the value. Returns
 * its row, or INDEX_NONE where the bytes are damaged.
 */
uint32_t column_row(struct column_streams *s, unsigned int stream, struct column_values *v,
		    uint64_t value);
/* Returns the value instead, or 0. */
uint64_t column_value(struct column_streams *s, unsigned int stream, struct column_values *v,
		      uint64_t value);
/*
 * The same of addresses, of which many share a page. New ones are in four streams from
 * `page_stream` on: the page, as a value, the higher four bits within it, and the lower eight.
 */
uint64_t column_address(struct column_streams *s, unsigned int stream, struct column_values *v,
			unsigned int page_stream, struct column_values *pages, uint64_t value);

#endif

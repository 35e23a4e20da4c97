/* SPDX-License-Identifier: MIT */
/*
 * The records of a block in columns: similar values are stored together and predictable ones are
 * left out, so that they compress better. Lossless for any records; see prof-capture(5).
 */
#pragma once

#include "lib/base/base.h"

/*
 * Streams of numbers that the same calls write or read: the order of fields is coded once for both
 * directions, so that encoder and decoder cannot disagree.
 */

#define COLUMN_STREAMS 36

struct column_streams {
	bool is_decoding;
	bool failed; /* decoding: the bytes are damaged; once set, stays set */
	VEC(uint8_t) written[COLUMN_STREAMS]; /* encoding */
	struct {
		const uint8_t *at, *end;
	} read[COLUMN_STREAMS]; /* decoding */
	VEC(uint8_t) whole; /* encoding: all streams */
};

/*
 * Values that occurred before, by number. A zeroed struct is empty. A secret seed prevents forged
 * values from colliding in the hash table.
 */
struct column_values {
	uint64_t seed;
	bool is_found; /* when decoding, values are looked up as well */
	VEC(uint64_t) rows;
	struct index by_value;
};

struct columns;

/* Between blocks, the state is only memory to reuse. */
struct columns *columns_new(void);
/* Accepts NULL. */
void columns_free(struct columns *c);

/*
 * Encodes whole records of `size` bytes without changing them. Returns the encoded bytes, valid
 * until the next call, or NULL if they would exceed `max`.
 */
const uint8_t *columns_encode(struct columns *c, uint8_t *records, size_t size, size_t max,
			      size_t *encoded);
/*
 * Decodes untrusted bytes into exactly `size` bytes of records. Their sizes are consistent, but
 * their contents are unchecked. `records` is aligned as a record; `version` is the capture's.
 * Returns false if the bytes are damaged.
 */
bool columns_decode(struct columns *c, uint32_t version, const uint8_t *bytes, size_t encoded,
		    uint8_t *records, size_t size);

/* SPDX-License-Identifier: MIT */
/*
 * The records of a frame by columns: what is alike stands together, and what can be foretold is
 * left out, so that packing finds more. Lossless for any records; see prof-capture(5).
 */
#ifndef PROF_LIB_STREAM_CAPTURE_COLUMNS_H
#define PROF_LIB_STREAM_CAPTURE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct columns;

/* Keeps memory between frames, and nothing else. */
struct columns *columns_new(void);
/* NULL is fine. */
void columns_free(struct columns *c);

/*
 * Encodes whole records of `size` bytes, which stay as they are. Returns the bytes, valid until the
 * next call, or NULL if they would be more than `max`.
 */
const uint8_t *columns_encode(struct columns *c, uint8_t *records, size_t size, size_t max,
			      size_t *encoded);
/*
 * Decodes untrusted bytes into exactly `size` bytes of records, whose sizes are in order but not
 * their contents. `records` is aligned as a record; `version` is the capture's. False: the bytes
 * are damaged.
 */
bool columns_decode(struct columns *c, uint32_t version, const uint8_t *bytes, size_t encoded,
		    uint8_t *records, size_t size);

#endif

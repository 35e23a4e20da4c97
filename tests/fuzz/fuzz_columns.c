/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the records of a frame in columns. The first four say how many bytes they make; odd
 * numbers, that it is of the current version, not of version 3.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/stream/capture/capture_format.h"
#include "lib/stream/capture/columns.h"
#include "lib/stream/record/records.h"
#include "tests/fuzz/input.h"

#define SIZE_LIMIT ((size_t)256 << 10)

/* Encodes what was decoded, and decodes it to the same. */
static void go_round(struct columns *c, uint8_t *records, uint8_t *again, size_t size)
{
	size_t encoded;
	const uint8_t *bytes = columns_encode(c, records, size, SIZE_MAX, &encoded);
	struct columns *other = columns_new();

	if (!columns_decode(other, CAPTURE_VERSION, bytes, encoded, again, size) ||
	    memcmp(records, again, size) != 0)
		abort();
	columns_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t records[SIZE_LIMIT] __attribute__((aligned(8)));
	static uint8_t again[SIZE_LIMIT] __attribute__((aligned(8)));
	struct columns *c;
	uint32_t wanted, version;

	if (size < sizeof(wanted))
		return 0;
	memcpy(&wanted, data, sizeof(wanted));
	version = wanted % 2 ? CAPTURE_VERSION : 3;
	wanted %= SIZE_LIMIT;
	wanted &= ~7u;
	c = columns_new();
	if (columns_decode(c, version, data + sizeof(wanted), size - sizeof(wanted), records,
			   wanted))
		go_round(c, records, again, wanted);
	columns_free(c);
	return 0;
}

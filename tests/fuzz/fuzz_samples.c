/* SPDX-License-Identifier: MIT */
/* Any bytes as packed rows of samples; the first four say how many rows. */
#include <stdlib.h>
#include <string.h>

#include "lib/model/tables/sample_store.h"
#include "tests/fuzz/input.h"

#define ROWS_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char packed[SAMPLE_PACK_MAX(ROWS_MAX)];
	static struct sample rows[ROWS_MAX], again[ROWS_MAX];
	uint32_t count;
	size_t bytes;

	if (size < sizeof(count))
		return 0;
	memcpy(&count, data, sizeof(count));
	count %= ROWS_MAX + 1;
	if (!sample_unpack(data + sizeof(count), size - sizeof(count), rows, count))
		return 0;
	/* Packs what was unpacked, and unpacks it to the same. */
	bytes = sample_pack(rows, count, packed);
	if (bytes > sizeof(packed) || !sample_unpack(packed, bytes, again, count) ||
	    memcmp(rows, again, count * sizeof(*rows)) != 0)
		abort();
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/breakpad_id.h"

/* The first three fields of a GUID are little-endian. */
void breakpad_id_format(char text[BREAKPAD_ID_SIZE + 1], const uint8_t id[16])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02X", id[order[i]]);
	/* The age, absent from ELF files. */
	strcpy(text + 32, "0");
}

void breakpad_id_invent(char text[BREAKPAD_ID_SIZE + 1], const char *path, size_t size,
			uint64_t salt)
{
	uint64_t halves[2] = {
		hash_bytes(path, size, 2 * salt),
		hash_bytes(path, size, 2 * salt + 1),
	};

	breakpad_id_format(text, (const uint8_t *)halves);
}

/* SPDX-License-Identifier: MIT */
#include "lib/base/crc32.h"

#include <pthread.h>

#include "lib/base/bytes.h"

#define CRC_POLYNOMIAL 0xedb88320u

/* tables[n][byte]: effect on the CRC of a byte that n more bytes follow. */
static uint32_t tables[8][256];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ CRC_POLYNOMIAL : crc >> 1;
		tables[0][byte] = crc;
	}
	for (int n = 1; n < 8; n++) {
		for (int byte = 0; byte < 256; byte++) {
			uint32_t crc = tables[n - 1][byte];

			tables[n][byte] = crc >> 8 ^ tables[0][crc & 255];
		}
	}
}

uint32_t crc32_add(uint32_t crc, const void *data, size_t size)
{
	struct bytes b;

	pthread_once(&tables_made, make_tables);
	bytes_init(&b, data, size);
	crc = ~crc;
	while (bytes_left(&b) >= 8) {
		uint32_t low = bytes_u32(&b) ^ crc, high = bytes_u32(&b);

		crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^
		      tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^ tables[3][high & 255] ^
		      tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^
		      tables[0][high >> 24];
	}
	while (bytes_left(&b))
		crc = crc >> 8 ^ tables[0][(crc ^ bytes_u8(&b)) & 255];
	return ~crc;
}

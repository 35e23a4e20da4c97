/* SPDX-License-Identifier: MIT */
#include "lib/base/boot_id.h"

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

bool boot_id_read(uint8_t id[BOOT_ID_SIZE])
{
	_cleanup_free_ char *text = text_read_file("/proc/sys/kernel/random/boot_id", 64, NULL);
	size_t digits = 0;

	for (const char *at = text; at && *at && digits < 2 * BOOT_ID_SIZE; at++) {
		const char *hex = "0123456789abcdef", *found = strchr(hex, *at);

		if (!found)
			continue;
		id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | (found - hex));
		digits++;
	}
	return digits == 2 * BOOT_ID_SIZE;
}

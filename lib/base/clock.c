/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

#include <time.h>

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

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t clock_process_cpu_ns(void)
{
	return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

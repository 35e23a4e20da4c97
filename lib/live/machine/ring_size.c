/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/ring_size.h"

#include <unistd.h>

/*
 * Any record may use the first half of a ring. The other half has room for 1000 samples with stacks
 * of SHORT_STACK frames each (bpf/config.h): 680 bytes. Rates above 1000 Hz get proportionally
 * more, up to DEFAULT_BYTES_MAX.
 */
#define DEFAULT_BYTES (2ull << 20)
#define DEFAULT_BYTES_MAX (16ull << 20)
#define DEFAULT_HZ 1000
#define BYTES_MAX (1ull << 30)

static uint64_t default_size(double hz)
{
	double bytes = (double)DEFAULT_BYTES * hz / DEFAULT_HZ;

	if (bytes > (double)DEFAULT_BYTES_MAX)
		return DEFAULT_BYTES_MAX;
	return bytes > (double)DEFAULT_BYTES ? (uint64_t)bytes : DEFAULT_BYTES;
}

uint64_t ring_size(uint64_t wish, uint64_t interval_ns)
{
	double hz = interval_ns ? 1e9 / (double)interval_ns : DEFAULT_HZ;
	uint64_t bytes = wish ? wish : default_size(hz), size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < bytes && size < BYTES_MAX)
		size *= 2;
	return size;
}

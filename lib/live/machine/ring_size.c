/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/ring_size.h"

/*
 * A record may use at most half of a ring. The other half has room for 1000 samples with stacks of
 * SHORT_STACK frames each (bpf/config.h): 680 bytes. Rates above 1000 Hz get proportionally more,
 * up to DEFAULT_BYTES_MAX.
 */
#define DEFAULT_BYTES (2ull << 20)
#define DEFAULT_BYTES_MAX (16ull << 20)
#define DEFAULT_HZ 1000
/* Bytes per CPU when the whole machine is recorded, and the maximum for all CPUs. */
#define MACHINE_BYTES (8ull << 20)
#define MACHINE_BYTES_MAX (64ull << 20)
#define BYTES_MAX (1ull << 30)

/* Returns the bytes needed for ticks at DEFAULT_HZ. */
static uint64_t bytes_at_default(uint32_t machine_cpus)
{
	uint64_t bytes = machine_cpus ? MACHINE_BYTES_MAX / machine_cpus : 0;

	if (bytes > MACHINE_BYTES)
		return MACHINE_BYTES;
	return bytes > DEFAULT_BYTES ? bytes : DEFAULT_BYTES;
}

static uint64_t default_size(double hz, uint32_t machine_cpus)
{
	double bytes = (double)bytes_at_default(machine_cpus) * hz / DEFAULT_HZ;

	if (bytes > (double)DEFAULT_BYTES_MAX)
		return DEFAULT_BYTES_MAX;
	return bytes > (double)DEFAULT_BYTES ? (uint64_t)bytes : DEFAULT_BYTES;
}

uint64_t ring_size(uint64_t wish, uint64_t interval_ns, uint32_t machine_cpus)
{
	double hz = interval_ns ? 1e9 / (double)interval_ns : DEFAULT_HZ;
	uint64_t bytes = wish ? wish : default_size(hz, machine_cpus);
	uint64_t size = (uint64_t)sysconf(_SC_PAGESIZE);

	while (size < bytes && size < BYTES_MAX)
		size *= 2;
	return size;
}

/* SPDX-License-Identifier: MIT */
/* Clocks, in nanoseconds. */
#pragma once

#define BOOT_ID_SIZE 16

/*
 * Reads the kernel's boot id, see random(4). Returns false if it cannot be read; missing bytes stay
 * as they are.
 */
bool boot_id_read(uint8_t id[BOOT_ID_SIZE]);

/*
 * Latest time accepted from a file: 100 years, in ns, after the start of its clock (boot, start of
 * the recording or the Unix epoch). The sum of two such times fits an int64_t.
 */
#define CLOCK_TIME_MAX (36525ull * 86400 * 1000000000)
/* Greater than any time; marks a time that is missing, negative or beyond CLOCK_TIME_MAX. */
#define CLOCK_NO_TIME UINT64_MAX

/*
 * Returns false for impossible times. An event with such a time is kept, but placed at the end of
 * its thread or file, which it does not extend.
 */
static inline bool clock_can_show(uint64_t ns)
{
	return ns <= CLOCK_TIME_MAX;
}

/* Rounds a computed time; NaN, negative and impossible ones become CLOCK_NO_TIME. */
static inline uint64_t clock_time_from(double ns)
{
	return ns >= 0 && ns <= (double)CLOCK_TIME_MAX ? (uint64_t)(ns + 0.5) : CLOCK_NO_TIME;
}

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
/* CPU time of all threads of this process so far, user and system. */
uint64_t clock_process_cpu_ns(void);
/* CPU time of this thread so far. */
uint64_t clock_thread_cpu_ns(void);

/* SPDX-License-Identifier: MIT */
/* Writes into rings, as the kernel does. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place in a ring of a record that is being written. */
struct ring_place {
	uint32_t cpu;
	uint64_t at;
};

/*
 * Copies a record into the ring of a CPU's programs. False: there is no ring, or no room in it.
 * With `place`, it stays unfinished until ring_finish(); NULL: it is finished at once.
 */
bool ring_write(uint32_t cpu, const void *record, size_t size, struct ring_place *place);
void ring_finish(const struct ring_place *place);
bool ring_is_there(uint32_t cpu);
/* Bytes in the ring that have not been read. */
uint64_t ring_used(uint32_t cpu);
/* Makes the ring readable to who waits. */
void ring_wake(uint32_t cpu);

/*
 * Copies a record into the ring of a CPU's mapping event, or, without room, counts it: the next one
 * that finds room has the count written before it. False if there is no such ring, or no room.
 */
bool map_ring_write(uint32_t cpu, const void *record, size_t size);
/* The next `count` records find no room. */
void map_ring_lose(uint32_t cpu, uint32_t count);

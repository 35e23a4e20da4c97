/* SPDX-License-Identifier: MIT */
/*
 * Fills maps of maps in the background. After storing a map, the kernel waits until no program on
 * any CPU can be using the previous one: some 10 ms per slot, but concurrent callers share the
 * wait.
 */
#ifndef PROF_LIB_LIVE_BPF_MAP_SLOTS_H
#define PROF_LIB_LIVE_BPF_MAP_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	int outer_fd; /* the map of maps, and the slot in it */
	uint32_t key;
	int fd; /* the map to store; -1: made when needed */
	int code; /* 0, or the negative errno of what failed */
};

/* Makes a map for the slot. Returns a descriptor or a negative errno. Called by several threads. */
typedef int map_slot_make_fn(void *ctx, const struct map_slot *slot);

struct map_slot_filler;

/*
 * Begins to fill the slots. The caller owns slots and descriptors, but must not touch them before
 * the wait.
 */
struct map_slot_filler *map_slots_fill(struct map_slot *slots, size_t count, map_slot_make_fn *make,
				       void *ctx);
/* Waits until all slots are filled or have failed. Frees the filler; NULL is fine. */
void map_slots_wait(struct map_slot_filler *filler);

#endif

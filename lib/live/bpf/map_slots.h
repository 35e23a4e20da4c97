/* SPDX-License-Identifier: MIT */
/*
 * Filling maps of maps in the background. The kernel makes whoever puts a map into one wait until
 * no program on any CPU can be using what was there before: some 10 ms for each, but those who
 * wait at the same time share it.
 */
#ifndef PROF_LIB_LIVE_BPF_MAP_SLOTS_H
#define PROF_LIB_LIVE_BPF_MAP_SLOTS_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	int outer_fd; /* the map of maps, and where in it */
	uint32_t key;
	int fd; /* what goes there; -1: it is made there and then */
	int code; /* 0, or the negative errno of what failed */
};

/* A new map for the slot: its descriptor, or a negative errno. Called in several threads at once.
 */
typedef int map_slot_make_fn(void *ctx, const struct map_slot *slot);

struct map_slot_filler;

/* Begins to fill them. They are the caller's, with all descriptors, but not before the wait. */
struct map_slot_filler *map_slots_fill(struct map_slot *slots, size_t count, map_slot_make_fn *make,
				       void *ctx);
/* Until all of them are filled, or have failed. Frees the filler; NULL is fine. */
void map_slots_wait(struct map_slot_filler *filler);

#endif

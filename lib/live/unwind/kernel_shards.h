/* SPDX-License-Identifier: MIT */
/* Shards for the kernel's walker: maps in its array, mapped into this process. */
#ifndef PROF_LIB_LIVE_UNWIND_KERNEL_SHARDS_H
#define PROF_LIB_LIVE_UNWIND_KERNEL_SHARDS_H

#include "lib/base/vec.h"
#include "lib/code/unwind/native/table_arena.h"

struct kernel_shards {
	int maps_fd; /* the walker's array of shards, borrowed */
	VEC(int) fds; /* by the shard's number; owned */
};

/* Takes over first_fd, the descriptor of shard 0 if it is in the array already; -1: it is not. */
void kernel_shards_init(struct kernel_shards *k, int maps_fd, int first_fd);
/* Call after releasing the arena that uses the shards. */
void kernel_shards_release(struct kernel_shards *k);
struct shard_source kernel_shards_source(struct kernel_shards *k);

#endif

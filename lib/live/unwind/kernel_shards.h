/* SPDX-License-Identifier: MIT */
/* Shards that the walker in the kernel reads: maps in its array, mapped into this process. */
#ifndef PROF_LIB_LIVE_UNWIND_KERNEL_SHARDS_H
#define PROF_LIB_LIVE_UNWIND_KERNEL_SHARDS_H

#include "lib/base/vec.h"
#include "lib/unwind/native/table_arena.h"

struct kernel_shards {
	int maps_fd; /* the walker's array of shards, borrowed */
	VEC(int) fds; /* by the shard's number; owned */
};

/* first_fd: of the shard that is number 0 in the array already, taken over; -1: there is none. */
void kernel_shards_init(struct kernel_shards *k, int maps_fd, int first_fd);
/* After the arena that has them. */
void kernel_shards_release(struct kernel_shards *k);
struct shard_source kernel_shards_source(struct kernel_shards *k);

#endif

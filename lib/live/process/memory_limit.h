/* SPDX-License-Identifier: MIT */
/*
 * The memory limit of prof's own control group or of one above it, in version 2 and in the
 * controller "memory" of version 1. The kernel kills a process of a group that exceeds it, so a
 * recording takes less, and ends while there is room for writing the profile.
 */
#pragma once

#include "lib/base/base.h"

struct memory_limit {
	char *folder; /* the group whose limit leaves least; NULL: unlimited */
	uint64_t bytes;
	bool is_version_1;
};

/* Finds the limit. Groups that may swap count as unlimited: nothing is killed there so soon. */
void memory_limit_find(struct memory_limit *l);
void memory_limit_release(struct memory_limit *l);
/* Returns the bytes that are left, apart from caches; UINT64_MAX: unlimited. */
uint64_t memory_limit_left(const struct memory_limit *l);
/* Returns true if the limit is so near that a recording has to end. */
bool memory_limit_is_near(const struct memory_limit *l);

/* Sizes of the parts of a recording in memory, bytes. */
struct memory_sizes {
	uint64_t ring; /* ring of each CPU, a power of two */
	uint64_t unwind; /* ceiling for the tables in the kernel */
	uint64_t file; /* largest file for which a table is compiled; 0: any */
};

/*
 * Reduces the sizes to what the limit allows, with a warning. `is_machine`: all processes are
 * recorded. -ENOMEM, with a hint in err, if no size would do.
 */
int memory_limit_fit(const struct memory_limit *l, uint32_t cpus, bool is_machine,
		     struct memory_sizes *sizes, struct error *err);

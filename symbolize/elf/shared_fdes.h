/* SPDX-License-Identifier: MIT */
/* The functions of a module according to its call frame information, read once for all workers. */
#pragma once

#include <pthread.h>

#include "lib/code/unwind/eh_frame.h"

struct shared_fdes {
	int fd; /* the module's own file, borrowed; -1: none */
	pthread_mutex_t lock; /* guards the members below */
	bool was_read; /* the FDEs were read, on the first lookup */
	struct fde_ranges *ranges; /* NULL: not available */
};

void shared_fdes_init(struct shared_fdes *s, int fd);
void shared_fdes_release(struct shared_fdes *s);
/* Finds the function around the address, from any thread. Returns false if unknown. */
bool shared_fdes_find(struct shared_fdes *s, uint64_t rva, struct fde_range *range);

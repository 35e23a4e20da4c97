/* SPDX-License-Identifier: MIT */
/* Where the functions of a module are by its call frame information, read once for all workers. */
#ifndef PROF_SYMBOLIZE_ELF_SHARED_FDES_H
#define PROF_SYMBOLIZE_ELF_SHARED_FDES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/unwind/fde_ranges.h"

struct shared_fdes {
	int fd; /* the module's own file, borrowed; -1: there is none */
	pthread_mutex_t lock; /* of what follows */
	bool was_read; /* which is done when the first address needs it */
	struct fde_ranges *ranges; /* NULL: not to be had */
};

void shared_fdes_init(struct shared_fdes *s, int fd);
void shared_fdes_release(struct shared_fdes *s);
/* The function around the address, from any thread. False: nothing says that there is one. */
bool shared_fdes_find(struct shared_fdes *s, uint64_t rva, struct fde_range *range);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Iterates over the executable mappings of a process. Kernels from 6.11 on are asked for those
 * alone, which saves writing and parsing a line for each other mapping.
 */
#ifndef PROF_LIB_LIVE_PROCESS_EXEC_MAPS_H
#define PROF_LIB_LIVE_PROCESS_EXEC_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/live/process/proc_maps.h"

enum exec_maps_way {
	EXEC_MAPS_ASK, /* falls back to reading if the kernel does not answer */
	EXEC_MAPS_READ,
};

struct exec_maps {
	enum exec_maps_way way;
	int fd; /* /proc/PID/maps */
	uint64_t next; /* mappings below were returned */
	char name[PATH_MAX]; /* of the returned mapping */
	char *text, *at; /* owned */
};

/*
 * Returns 0; -ENOENT or -ESRCH if the process does not exist or has ended; -EACCES if its mappings
 * must not be read. Release after success.
 */
int exec_maps_open(struct exec_maps *maps, uint32_t pid, enum exec_maps_way way);
void exec_maps_release(struct exec_maps *maps);
/*
 * Stores the next mapping, in order of address; its path is valid until the next call. False at the
 * end. Leaves out the kernel's pages that every process sees (vsyscall).
 */
bool exec_maps_next(struct exec_maps *maps, struct proc_map *map);

#endif

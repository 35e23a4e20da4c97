/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of a process. Where the kernel can be asked for those alone (from 6.11
 * on), it does not have to write, nor we to read, a line for each of the others.
 */
#ifndef PROF_LIB_LIVE_PROCESS_EXEC_MAPS_H
#define PROF_LIB_LIVE_PROCESS_EXEC_MAPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/live/process/proc_maps.h"

enum exec_maps_way {
	EXEC_MAPS_ASK, /* and read, where the kernel does not answer */
	EXEC_MAPS_READ,
};

struct exec_maps {
	enum exec_maps_way way;
	int fd; /* /proc/PID/maps */
	uint64_t next; /* what is below has been there */
	char name[PATH_MAX]; /* the answer's */
	char *text, *at; /* owned */
};

/*
 * 0; -ENOENT or -ESRCH: there is no such process (any more); -EACCES: they must not be read. To be
 * released where it is 0.
 */
int exec_maps_open(struct exec_maps *maps, uint32_t pid, enum exec_maps_way way);
void exec_maps_release(struct exec_maps *maps);
/*
 * The next one, in order of address; its path is valid until the next call. False at the end. Pages
 * of the kernel that every process sees (vsyscall) are none of its mappings.
 */
bool exec_maps_next(struct exec_maps *maps, struct proc_map *map);

#endif

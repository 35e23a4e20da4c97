/* SPDX-License-Identifier: MIT */
/* The executable lines of /proc/PID/maps, see proc(5). */
#ifndef PROF_LIB_LIVE_PROCESS_PROC_MAPS_H
#define PROF_LIB_LIVE_PROCESS_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct proc_map {
	uint64_t start, end, file_offset, inode;
	uint32_t device_major, device_minor;
	bool executable;
	const char *path; /* "" for anonymous memory; points into the text */
};

/*
 * Parses the line at *text, terminates it in place and advances to the next. False at the end.
 * Malformed lines are skipped.
 */
bool proc_maps_next(char **text, struct proc_map *map);

#endif

/* SPDX-License-Identifier: MIT */
/* Reads the path of a control group, see cgroups(7). */
#ifndef PROF_LIB_STREAM_PROCESS_CGROUP_H
#define PROF_LIB_STREAM_PROCESS_CGROUP_H

#include <stddef.h>

/* Hexadecimal digits by which container engines name containers and their control groups. */
#define CONTAINER_ID_SIZE 64

/* Finds the last container's id in the path (size bytes); NULL: none. */
const char *cgroup_container_id(const char *path, size_t size);
/* The last component of the path, which need not end in a slash or be terminated. */
const char *cgroup_leaf(const char *path, size_t *size);

#endif

/* SPDX-License-Identifier: MIT */
/* What the path of a control group tells, see cgroups(7). */
#ifndef PROF_LIB_PROCESS_CGROUP_H
#define PROF_LIB_PROCESS_CGROUP_H

#include <stddef.h>

/* Container engines name containers, and their control groups, by so many hexadecimal digits. */
#define CONTAINER_ID_SIZE 64

/* Where in the path (size bytes) the last container's id begins; NULL: it names none. */
const char *cgroup_container_id(const char *path, size_t size);
/* The last component of the path, which need not end in a slash or be terminated. */
const char *cgroup_leaf(const char *path, size_t *size);

#endif

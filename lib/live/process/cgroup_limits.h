/* SPDX-License-Identifier: MIT */
/*
 * CPU limits of the control groups of recorded processes, and of their ancestors: how often the
 * kernel throttled their threads until the next period. Such threads appear to wait for a CPU.
 * Works with version 2, and with the controller "cpu" of version 1.
 */
#pragma once

#include "lib/base/base.h"

/* The mounted hierarchy that has a controller. Zeroed: none. */
struct cgroup_hierarchy {
	const char *controller;
	char *mount;
	char *root; /* group at the mount point */
	bool is_version_1;
};

/* Finds the hierarchy of a controller, named as in version 1 ("cpu"). The name is borrowed. */
void cgroup_hierarchy_find(struct cgroup_hierarchy *h, const char *controller);
void cgroup_hierarchy_release(struct cgroup_hierarchy *h);
/*
 * Returns the path of the group in the text of /proc/PID/cgroup, below the mount point, "" for the
 * group at the mount point; NULL if the group is not visible there. The caller frees it.
 */
char *cgroup_hierarchy_path(const struct cgroup_hierarchy *h, const char *text);

/* Returns the number after `key`, which ends with a space, at the start of a line, or 0. */
uint64_t cgroup_number_of(const char *text, const char *key);

struct cpu_limit_counts {
	uint64_t periods; /* periods in which the group had something to run */
	uint64_t throttled; /* periods in which the group was throttled */
	uint64_t throttled_ns; /* throttled time, summed over all CPUs */
};

struct cpu_limit {
	char *path; /* path below the mount point */
	/* counts since the beginning, or since the group was first seen */
	struct cpu_limit_counts counts;
	struct cpu_limit_counts last; /* last values read from the kernel */
	uint64_t first_ns, next_ns;
};

/* Zeroed is empty. */
struct cpu_limits {
	struct cgroup_hierarchy hierarchy;
	bool is_searched;
	VEC(struct cpu_limit) rows;
};

void cpu_limits_release(struct cpu_limits *l);
/* Adds the group of a process, given the text of its /proc/PID/cgroup, and the groups above it. */
void cpu_limits_add(struct cpu_limits *l, const char *text, uint64_t now);
/* Resets all counts. */
void cpu_limits_begin(struct cpu_limits *l);
/* Reads the groups that are due. A group that has been removed keeps its counts. */
void cpu_limits_read(struct cpu_limits *l, uint64_t now);
void cpu_limits_read_all(struct cpu_limits *l);

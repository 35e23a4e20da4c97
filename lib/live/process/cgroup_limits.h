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

/* A zeroed struct is empty. */
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

/*
 * The memory limit of prof's own control group or of one above it, in version 2 and in the
 * controller "memory" of version 1. The kernel kills a process of a group that exceeds it, so a
 * recording takes less, and ends while there is room for writing the profile.
 */

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

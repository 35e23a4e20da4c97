/* SPDX-License-Identifier: MIT */
/*
 * Which tasks a recording is about, as the kernel's side takes it. Tasks have to meet everything
 * that was given; of several pids, names and so on, one.
 */
#ifndef PROF_LIB_LIVE_PROCESS_FILTER_H
#define PROF_LIB_LIVE_PROCESS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "bpf/name_set.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/live/machine/cpu_list.h"

struct filter {
	bool all; /* every process, not only those that are tracked */
	bool include_self; /* with all: the recorder, too */
	bool skip_children; /* of the processes that are tracked */
	uint32_t criteria; /* FILTER_… */
	VEC(uint32_t) pids, tids, uids;
	struct name_set process_names, thread_names;
	VEC(uint64_t) cgroups; /* their ids */
	uint32_t cgroup_hierarchy; /* of all of them; 0: version 2 */
	struct cpu_list cpus; /* that are sampled; none: all */
};

/* A zeroed struct lets everything pass. */
void filter_release(struct filter *f);

int filter_add_pid(struct filter *f, uint32_t pid, struct error *err);
/* The thread, and with it its process: other threads of it are still listed. */
int filter_add_tid(struct filter *f, uint32_t tid, struct error *err);
/* A number or a user's name. */
int filter_add_uid(struct filter *f, const char *user, struct error *err);
/* A folder of a cgroup file system, or a path below where that is mounted. */
int filter_add_cgroup(struct filter *f, const char *path, struct error *err);
/* "0-3,8", whatever CPUs there are. -EINVAL: it is no such list. */
int filter_set_cpus(struct filter *f, const char *list, struct error *err);
/* -ENODEV where one of them is not online. */
int filter_check_cpus(const struct filter *f, struct error *err);

/*
 * Adds a pattern for the names of tasks: * is anything, ? a character, [a-z] and [!a-z] one of
 * some, \ takes the next one's meaning. One without any of these is cut where the kernel cuts
 * names. -EINVAL: it is no pattern; -E2BIG: all of them together are too long.
 */
int name_set_add(struct name_set *set, const char *pattern, struct error *err);

#endif

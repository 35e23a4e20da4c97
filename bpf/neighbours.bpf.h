/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the clock's ticks in background load: processes that are not recorded. */
#ifndef PROF_BPF_NEIGHBOURS_BPF_H
#define PROF_BPF_NEIGHBOURS_BPF_H

#include "bpf/config.h"
#include "bpf/kernel.h"

/* By tgid of the initial pid namespace. User space removes the rows periodically. */
struct neighbours_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NEIGHBOURS_MAX);
	__type(key, __u32);
	__type(value, struct neighbour);
};

extern struct neighbours_map neighbours SEC(".maps");

/* Counts a tick of the current process. A global function: the verifier checks it once, apart. */
extern int count_neighbour(void);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts clock ticks in background load, the processes that are not recorded. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"

/* By tgid of the initial pid namespace. User space removes the rows periodically. */
struct background_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, BACKGROUND_MAX);
	__type(key, __u32);
	__type(value, struct background_process);
};

extern struct background_map background_processes SEC(".maps");

/* Counts a tick of the current process. A global function, so the verifier checks it once. */
extern int count_background(void);

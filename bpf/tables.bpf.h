/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walker's maps: unwind tables, rules, and the mappings of processes. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"
#include "bpf/runtime_layout.h"
#include "bpf/unwind.h"

struct unwind_shard {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, UNWIND_SHARD_BYTES);
};

struct unwind_shards {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_SHARDS_MAX);
	__type(key, __u32);
	__array(values, struct unwind_shard);
};

struct unwind_rules {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, UNWIND_RULES_MAX);
	__type(key, __u32);
	__type(value, struct unwind_rule);
};

/* The location of a process's mappings, by pid in user space's namespace. */
struct unwind_spaces {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* the maximum number of tasks, set by user space */
	__type(key, __u32);
	__type(value, struct unwind_space);
};

extern struct unwind_shards unwind_shards SEC(".maps");
extern struct unwind_rules unwind_rules SEC(".maps");
extern struct unwind_spaces unwind_spaces SEC(".maps");

/*
 * Returns the kind of a runtime; RUNTIME_UNREAD if its structures were invalid too often. 0: none.
 */
static __always_inline __u32 followed_kind(const struct space_runtime *runtime)
{
	return runtime->misled < RUNTIME_MISLED_MAX ? runtime->kind : RUNTIME_UNREAD;
}

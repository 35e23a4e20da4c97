/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "bpf/kernel.h"

/*
 * A struct rec_exec, followed by room for the longest name and arguments at the highest offset: for
 * all the verifier sees, they may coincide. Programs at one tracepoint do not interrupt each other.
 */
struct exec_scratch {
	__u64 words[256 + 4];
};

struct exec_scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct exec_scratch);
};

extern struct exec_scratches exec_scratches SEC(".maps");

/*
 * Stores the names of a path of the current task (bpf/path_names.bpf.h) after a struct rec_exec in
 * this CPU's scratch; `mount` and `entry` are addresses of its struct vfsmount and struct dentry.
 * Returns their bytes, and EXEC_NAMES_WHOLE if none are missing.
 */
#define EXEC_NAMES_WHOLE (1 << 16)
extern int read_exec_names(__u64 mount, __u64 entry);

/*
 * Sends a REC_EXEC about the current task, which has just executed a program, if config.arguments
 * is set. `pid` and `tid` are in the recorder's namespace.
 */
extern int send_arguments(__u32 pid, __u32 tid);

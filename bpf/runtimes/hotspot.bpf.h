/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps through frames of HotSpot in the memory of the current task. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/first_seen.bpf.h"
#include "bpf/runtimes/managed.bpf.h"

struct hotspot_walk;

/* Returns whether it is a return address, of native code as well. */
__noinline int hotspot_returns(struct hotspot_walk *w, __u64 addr);

/* Global functions: the verifier checks each once. */
#define HOTSPOT_SHARED __noinline
#define hotspot_read(to, size, addr) bpf_probe_read_user(to, size, (const void *)(addr))
#define hotspot_is_return(w, addr) hotspot_returns(w, addr)
#include "bpf/hotspot_found.h"
#include "bpf/hotspot_walk.h"

#define HOTSPOT_PROCESSES 1024

/* The running JVMs, by pid as in unwind_spaces. Entries of ended ones may be replaced. */
struct runtime_processes {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOTSPOT_PROCESSES);
	__type(key, __u32);
	__type(value, struct hotspot_process);
};

#define HOTSPOT_STUB_NAME 64 /* bytes to read of a blob's name */

/* Variables of a walk. */
struct hotspot_run {
	struct hotspot_walk walk;
	struct rec like; /* header of the sample */
	__u64 process; /* hash that identifies the process */
	__u64 identity, key; /* identity and key of the function found */
	__u64 stubs; /* address of the list of the JVM's own pieces of code; 0: unknown */
	__u32 layout_number;
	__u32 frames; /* JVM frames so far */
};

struct runtime_processes runtime_processes SEC(".maps");
PER_CPU(struct hotspot_run, OWN_MAP(hotspot_walks), own_hotspot_run)

__noinline int hotspot_returns(struct hotspot_walk *w, __u64 addr)
{
	struct stack_scratch *s;
	__u8 code[WALK_CALL_SIZE];

	s = own_stack();
	if (!w || !s || addr < sizeof(code))
		return 0;
	if (hotspot_is_interpreter(w, addr))
		return 1;
	if (bpf_probe_read_user(code, sizeof(code), (const void *)(addr - sizeof(code))))
		return 0;
	if (!hotspot_is_code(w, addr))
		return walk_is_call(code, IS_ARM64) && unwind_find_mapping(s, addr - 1);
	return walk_is_call(code, IS_ARM64) ? hotspot_find_start(w, addr - 1) != 0
					    : hotspot_may_return(w, addr);
}

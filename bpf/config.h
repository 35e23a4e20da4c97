/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space tells the BPF programs before they are loaded, and what they count for it. */
#ifndef PROF_BPF_CONFIG_H
#define PROF_BPF_CONFIG_H

#include <linux/types.h>

/* Depth of one sample's stack. The kernel part is what perf_event_max_stack allows by default. */
#define KERNEL_DEPTH_MAX 127
#define USER_DEPTH_MAX 1088
/*
 * A stack that is deeper ends behind so many frames, at the next frame that lies in another block
 * of the stack than the one before: neighbours in time end at the same frame, and share what they
 * have in common.
 */
#define USER_DEPTH_KEPT 1000
#define STACK_BLOCK_SHIFT 11

/* Frames of a stack that is sent while a ring fills up, so that no tick is lost for long ones. */
#define SHORT_STACK 64

/*
 * A stack that is sent can be continued by later ones at every so many user frames, counted from
 * the outermost: programs sit in the same outer frames for long, and only what is new is sent.
 */
#define STACK_CUT 8

/* Slots of the table of stacks that were sent, whole and cut; a power of two. 16 bytes each. */
#define SENT_STACKS (1 << 17)

/* The most that is copied of one stack, a multiple of a page. */
#define COPY_BYTES_MAX (16u << 10)
/* In a window of that length, copies take no more than config.copy_bytes of each ring. */
#define COPY_WINDOW_NS 100000000ull

/* Events besides the clock are known by a number below that; 0 is none. */
#define EVENTS_MAX 16

/* Which of an event's occurrences become samples; the others count for the next that does. */
struct event_limit {
	__u64 window_ns; /* 0: every period-th, whatever that costs */
	__u32 quota; /* samples in a window from which on they become rarer */
	__u32 period;
	/* Hardware counts, and tells with each sample how much it stands for. */
	__u32 is_measured;
	__u32 reserved;
};

/* bpf_config.unwind */
enum {
	UNWIND_BY_CFI = 1 << 0,
	UNWIND_BY_FRAME_POINTER = 1 << 1, /* where there is no CFI */
	UNWIND_BY_SCAN = 1 << 2, /* where neither leads on */
	UNWIND_BY_KERNEL = 1 << 3, /* bpf_get_stack: frame pointers and nothing else */
};

/* bpf_config.filter: a task has to meet all of them. */
enum {
	FILTER_PID = 1 << 0, /* in `wanted` */
	FILTER_COMM = 1 << 1, /* the process's name is in process_names */
	FILTER_UID = 1 << 2, /* the effective one is among uids */
	FILTER_CGROUP = 1 << 3, /* below one of wanted_cgroups */
	FILTER_TID = 1 << 4, /* in wanted_tids */
	FILTER_THREAD = 1 << 5, /* the thread's name is in thread_names */
};

#define UIDS_MAX 16
#define CGROUPS_MAX 64

/* A process in the filter. */
struct tracked_process {
	__u64 start; /* its start time, so that a pid that is used again is not taken for it */
	__u64 first_exec; /* its task's exec count when it was entered */
	__u64 entered; /* when a scan found it; 0: its beginning was recorded */
	__u64 cgroups; /* cgroups_of() it when user space last looked where it lives; 0: never */
	__u64 user; /* complement of bpf_get_current_uid_gid() as last told; 0: never */
};

/* Read-only data: constant for the verifier, so unused branches cost nothing. */
struct bpf_config {
	__u64 user_pc_mask; /* the bits of a return address that are no signature */
	__u32 pid_inode; /* of the recorder's pid namespace; 0: the initial one */
	__u32 wakeup_bytes; /* data in a ring from which on user space is woken */
	__u32 stack_limit; /* user frames that bpf_get_stack gives at most */
	__u32 copy_bytes; /* 0: no copies */
	__u32 unwind; /* how user stacks are found; 0: not at all */
	__u32 filter; /* FILTER_…: which tasks of the tracked processes are wanted */
	__u32 cgroup_hierarchy; /* of FILTER_CGROUP; 0: that of version 2 */
	__u32 uid_count;
	__u32 uids[UIDS_MAX];
	__u32 include_self; /* with record_all: the recorder, too */
	/*
	 * Data in a ring from which on only what the clock's ticks need is written: no other
	 * events, no copies, and stacks of SHORT_STACK frames.
	 */
	__u32 full_bytes;
	__u32 record_all; /* every process, whoever its parent is */
	__u32 skip_children; /* a tracked process's children are not tracked, too */
	__u32 arguments; /* an exec is followed by a REC_EXEC */
	__u32 reserved;
};

/* For find_symbol: an address of the kernel's, and what the kernel says about it. */
struct symbol_query {
	__u64 addr;
	char text[640]; /* "name+0x12/0x34 [module]"; a number where it has no name */
};

/* One a CPU, only ever added to by the programs that run on that CPU. */
struct bpf_counters {
	__u64 lost_samples; /* no room in the ring */
	__u64 lost_events;
	__u64 lost_tracking; /* processes that did not fit into the filter */
	__u64 lost_no_ring;
	__u64 idle_ticks; /* nothing ran */
	__u64 other_ticks; /* something ran that is not wanted */
	__u64 skipped_copies; /* stacks that stay unknown, because too many were copied already */
	__u64 skipped_arguments; /* execs without them: the ring was filling up */
	__u64 written_bytes; /* into the ring, without the kernel's 8-byte headers */
};

/* One a CPU and event, touched by the programs on that CPU alone. */
struct event_state {
	__u64 window; /* when it began */
	__u64 pending; /* occurrences since the last sample */
	__u64 samples; /* written into the ring */
	__u64 lost; /* occurrences whose sample the ring had no room for */
	__u32 seen, taken; /* occurrences and samples in this window */
	__u32 period; /* of event_limit, or as it has become */
	__u32 reserved;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types and fields that the programs read. CO-RE finds their offsets in the running
 * kernel. Each field is declared with the kernel's type; the rest of a declaration is irrelevant.
 */
#pragma once

#include <stdbool.h>
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000

#define CORE __attribute__((preserve_access_index))

#if defined(__TARGET_ARCH_arm64)
#define IS_ARM64 1
#else
#define IS_ARM64 0
#endif

/* A row that each CPU has for itself, in a map; `own`: the function that returns it. */
#define PER_CPU(row_type, map, own) \
	struct { \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, 1); \
		__type(key, __u32); \
		__type(value, row_type); \
	} map SEC(".maps"); \
\
	static __always_inline row_type *own(void) \
	{ \
		__u32 zero = 0; \
\
		return bpf_map_lookup_elem(&map, &zero); \
	}

/*
 * Reads a bit field of an unsigned int behind a pointer that may be dereferenced.
 * BPF_CORE_READ_BITFIELD has a branch for each width; for each dead one, the kernel moves the rest
 * of the program.
 */
#define core_read_bits(s, field) \
	((__u64) * (const __u32 *)((const void *)(s) + __CORE_RELO(s, field, BYTE_OFFSET)) \
		 << __CORE_RELO(s, field, LSHIFT_U64) >> \
	 __CORE_RELO(s, field, RSHIFT_U64))

/*
 * Returns 0, a fact hidden from the verifier: a loop that starts at a known number is checked
 * twice, once for that number and once for all others.
 */
static __always_inline __u64 unknown_zero(__u64 unknown)
{
	__u64 same = unknown;

	barrier_var(same);
	return unknown - same;
}

struct ns_common {
	unsigned int inum;
} CORE;

struct pid_namespace {
	struct ns_common ns;
} CORE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} CORE;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} CORE;

typedef struct {
	int counter;
} atomic_t;

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
	PIDTYPE_PGID,
	PIDTYPE_SID,
	PIDTYPE_MAX,
};

struct signal_struct {
	atomic_t live;
	struct pid *pids[PIDTYPE_MAX];
} CORE;

struct rq {
	__u64 clock;
} CORE;

struct cfs_rq {
	struct rq *rq;
} CORE;

struct sched_entity {
	__u64 sum_exec_runtime;
	unsigned char sched_delayed;
	struct cfs_rq *cfs_rq;
} CORE;

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
} CORE;

struct thread_info {
	unsigned long flags;
	__u32 status;
} CORE;

struct qstr {
	const unsigned char *name;
} CORE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
} CORE;

struct vfsmount {
	struct dentry *mnt_root;
} CORE;

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
} CORE;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} CORE;

struct file {
	struct path f_path;
	struct inode *f_inode;
} CORE;

struct mm_struct {
	unsigned long data_vm;
	unsigned long exec_vm;
	unsigned long start_stack;
	unsigned long arg_start, arg_end;
	struct file *exe_file;
} CORE;

struct fs_struct {
	struct path root, pwd;
} CORE;

typedef struct {
	unsigned int val;
} kuid_t;

typedef struct {
	unsigned int val;
} kgid_t;

struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t euid;
} CORE;

struct kernfs_node {
	__u64 id;
} CORE;

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
} CORE;

struct cgroup_root {
	int hierarchy_id;
} CORE;

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
} CORE;

struct css_set {
	struct cgroup_subsys_state *subsys[1];
	struct cgroup *dfl_cgrp;
} CORE;

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
} CORE;

/* A call of a function whose return is probed. */
struct return_instance {
	unsigned long stack, orig_ret_vaddr;
	struct return_instance *next; /* return instance of the preceding call */
} CORE;

struct uprobe_task {
	struct return_instance *return_instances;
} CORE;

struct task_struct {
	void *stack;
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned int on_cpu; /* one byte since 7.2: libbpf narrows only unsigned types */
	unsigned int on_rq;
	struct sched_entity se;
	int exit_code;
	unsigned int in_execve : 1;
	unsigned int in_iowait : 1;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_time;
	__u64 self_exec_id;
	char comm[16];
	struct signal_struct *signal;
	struct mm_struct *mm;
	const struct cred *cred;
	struct fs_struct *fs;
	struct css_set *cgroups;
	struct thread_struct thread;
	struct sched_info sched_info;
	struct uprobe_task *utask;
} CORE;

enum mod_mem_type {
	MOD_TEXT,
	MOD_DATA,
	MOD_RODATA,
	MOD_RO_AFTER_INIT,
	MOD_INIT_TEXT,
	MOD_MEM_NUM_TYPES,
};

struct module_memory {
	void *base;
	unsigned int size;
} CORE;

struct module {
	char name[64 - sizeof(unsigned long)];
	struct module_memory mem[MOD_MEM_NUM_TYPES];
} CORE;

struct module_layout {
	void *base;
	unsigned int text_size;
} CORE;

struct module___until_6_3 {
	struct module_layout core_layout;
	struct module_layout init_layout;
} CORE;

struct bpf_perf_event_data_kern {
	bpf_user_pt_regs_t *regs;
} CORE;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} CORE;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} CORE;

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Major page faults of recorded threads, as a software event tells of them when they are over. As
 * other programs of events, it shares the sampler's memory.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/capture_stack.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/live_record.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"

/* A struct rec_fault, with room for the longest path at the highest offset. */
struct fault_scratch {
	__u64 words[(sizeof(struct rec_fault) + 2 * 256) / 8];
};

struct fault_scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fault_scratch);
};

struct fault_scratches fault_scratches SEC(".maps");

__u64 faults_recorded = 0, faults_lost = 0;

static __always_inline struct rec_fault *own_fault(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&fault_scratches, &zero);
}

static __always_inline char *path_names_room(void)
{
	struct rec_fault *fault = own_fault();

	return fault ? fault->names : NULL;
}

#include "bpf/path_names.bpf.h"

struct file {
	struct path f_path;
} CORE;

struct vm_area_struct {
	struct file *vm_file;
} CORE;

struct found_file {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

static long note_file(struct task_struct *task, struct vm_area_struct *area, void *ctx)
{
	struct file *file = BPF_CORE_READ(area, vm_file);
	struct found_file *found = ctx;

	if (!file)
		return 0;
	found->mnt = BPF_CORE_READ(file, f_path.mnt);
	found->dentry = BPF_CORE_READ(file, f_path.dentry);
	return 0;
}

/*
 * Sets the names of the file. A map of the process that is being changed just now cannot be
 * searched. A global function: its variables are off the stack while others need it.
 */
__noinline int name_file(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_fault *fault = own_fault();
	struct found_file found = {};
	bool is_whole = true;

	if (!fault)
		return 0;
	bpf_find_vma(task, fault->address, note_file, &found, 0);
	fault->names_size = 0;
	if (found.dentry)
		fault->names_size = read_path_names(task, found.mnt, found.dentry, &is_whole);
	fault->rec.flags = is_whole ? 0 : PATH_NAMES_CUT;
	return 0;
}

/* False: the ring has no room. */
static __always_inline bool send_fault(void *ctx, struct task_struct *task,
				       struct tracked_process *process, struct rec_sample *sample,
				       struct rec_fault *fault)
{
	struct bpf_counters *count = own_counters();
	struct stack_scratch *s;
	void *ring = own_ring();
	__u32 zero = 0, size;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !count || !ring || is_filling(ring) || !user_is_told(process, &sample->rec))
		return false;
	capture_interrupted(ctx, s, process, sample->rec.pid);
	if (!place_stack(s, sample, config.copy_bytes / 4))
		return false;
	fault->stack.time = sample->rec.time;
	fault->stack.pid = sample->rec.pid;
	fault->stack.tid = sample->rec.tid;
	fault->stack.leaf = sample->leaf;
	fault->stack.stack_id = sample->stack_id;
	fault->stack.flags = sample->rec.flags;
	size = (sizeof(*fault) + fault->names_size + 7) & ~7u;
	if (size > sizeof(struct fault_scratch))
		return false;
	fault->rec.words = size / 8;
	return emit_output(count, ring, fault, size, BPF_RB_NO_WAKEUP);
}

SEC("perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct rec_fault *fault = own_fault();
	struct rec_sample sample = {};

	if (!process || !fault)
		return 0;
	rec_init(&sample.rec, REC_SAMPLE, sizeof(sample), bpf_ktime_get_ns());
	task_pids(task, ids, &sample.rec.pid, &sample.rec.tid);
	if (match_flags(task, ids, &sample.rec, task->comm))
		return 0;
	rec_init(&fault->rec, REC_FAULT, sizeof(*fault), sample.rec.time);
	fault->rec.pid = sample.rec.pid;
	fault->rec.tid = sample.rec.tid;
	fault->address = ctx->addr;
	name_file();
	if (send_fault(ctx, task, process, &sample, fault))
		__sync_fetch_and_add(&faults_recorded, 1);
	else
		__sync_fetch_and_add(&faults_lost, 1);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Major page faults of recorded threads, reported by a software event when they end. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

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
 * Sets the names of the file. The process's mappings cannot be searched while they are being
 * changed. A global function: its variables do not add to its caller's stack.
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

/* `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_fault(const struct rec_sample *sample)
{
	struct rec_fault *fault = own_fault();

	if (fault)
		finish_marker(&fault->rec, &fault->stack, sample,
			      sizeof(*fault) + fault->names_size, sizeof(struct fault_scratch),
			      false);
}

MARKER_END("perf_event", end_fault, TIMED_FAULT, finish_fault(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_fault}};

static __always_inline void tell_fault(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_fault *fault = own_fault();
	struct tracked_process *process;
	struct rec_sample *sample;
	struct stack_scratch *s;

	if (!fault)
		return;
	rec_init(&fault->rec, REC_FAULT, sizeof(*fault), bpf_ktime_get_ns());
	process = marker_owner(task, &fault->rec);
	if (!process)
		return;
	fault->address = ctx->addr;
	name_file();
	sample = begin_marker_sample(&fault->rec);
	s = sample ? begin_marker_stack(process, sample) : NULL;
	if (s)
		capture_interrupted(ctx, s, process, sample->rec.pid);
	finish_fault(s && send_marker_stack(ctx, s, 0) ? sample : NULL);
}

SEC("perf_event")
int on_fault(struct bpf_perf_event_data *ctx)
{
	RUN_TIMED(TIMED_FAULT, tell_fault(ctx));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A tick of the sampling event: who runs here, where, with which stack. */
#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/copy.bpf.h"
#include "bpf/gather.bpf.h"

struct scratches scratches SEC(".maps");
struct sent sent SEC(".maps");
struct copies copies SEC(".maps");

__u32 last_stack_id = 0;

/*
 * CPU time of the running task in ns. The kernel's own count is only brought up to date now and
 * then while a task runs (at its tick, when it leaves the CPU). Between two samples here without a
 * switch the task has been running all the time, so its count goes on by what the clock says.
 */
static __always_inline __u64 task_cpu_time(struct task_struct *task, struct stack_scratch *s,
					   __u64 now)
{
	__u64 switches = task->nvcsw + task->nivcsw;
	__u64 cpu_time = task->se.sum_exec_runtime;
	__u64 start = task->start_time;
	__u32 pid = task->pid;

	if (s->last_pid == pid && s->last_start == start && s->last_switches == switches) {
		__u64 guess = s->last_cpu_time + (now - s->last_time);

		if (guess > cpu_time)
			cpu_time = guess;
	}
	s->last_pid = pid;
	s->last_start = start;
	s->last_switches = switches;
	s->last_time = now;
	s->last_cpu_time = cpu_time;
	return cpu_time;
}

/*
 * The id of the stack in s, whose record is sent first if it has not been yet. A stack counts as
 * sent only once its record is in the ring. 0: no room.
 */
static __always_inline __u32 send_stack(struct stack_scratch *s, const struct rec *like, void *ring,
					struct bpf_counters *count)
{
	__u64 hash = hash_stack(s);
	__u32 slot = hash % SENT_STACKS, id, size;
	struct sent_stack *entry = bpf_map_lookup_elem(&sent, &slot);

	if (!entry)
		return 0;
	id = sent_find(entry, hash);
	if (id)
		return id;
	id = __sync_fetch_and_add(&last_stack_id, 1) + 1;
	size = finish_stack(s, like, id);
	if (!size || size > sizeof(s->words) ||
	    bpf_ringbuf_output(ring, s->words, size, BPF_RB_NO_WAKEUP))
		return 0;
	__sync_fetch_and_add(&count->written_bytes, size);
	sent_set(entry, hash, id);
	return id;
}

static __always_inline void send_sample(struct bpf_perf_event_data *ctx, struct task_struct *task,
					const struct tracked_process *process,
					struct stack_scratch *s, struct bpf_counters *count)
{
	struct rec_sample sample;
	void *ring = own_ring();

	if (!ring) {
		__sync_fetch_and_add(&count->lost_no_ring, 1);
		return;
	}
	rec_init(&sample.rec, REC_SAMPLE, sizeof(sample), bpf_ktime_get_ns());
	task_pids(task, &sample.rec.pid, &sample.rec.tid);
	sample.rec.weight = 1;
	gather_stack(ctx, task, process, s, sample.rec.pid);
	sample.rec.flags = s->sample_flags;
	sample.leaf = s->leaf;
	sample.cpu_time = task_cpu_time(task, s, sample.rec.time) >> 4;
	sample.stack_id = 0;
	if (s->stack_flags & STACK_UNKNOWN && config.copy_bytes)
		sample.stack_id = send_copy(task, s, &sample.rec, ring, count,
					    __sync_fetch_and_add(&last_stack_id, 1) + 1);
	if (!sample.stack_id && !(s->sample_flags & SAMPLE_NO_STACK)) {
		sample.stack_id = send_stack(s, &sample.rec, ring, count);
		if (!sample.stack_id) {
			__sync_fetch_and_add(&count->lost_samples, 1);
			return;
		}
	}
	if (bpf_ringbuf_output(ring, &sample, sizeof(sample), ring_flags(ring)))
		__sync_fetch_and_add(&count->lost_samples, 1);
	else
		__sync_fetch_and_add(&count->written_bytes, sizeof(sample));
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_tracked(task);
	struct bpf_counters *count;
	struct stack_scratch *s;
	__u32 zero = 0;

	if (!task->pid || (!process && !config.record_all))
		return 0;
	s = bpf_map_lookup_elem(&scratches, &zero);
	count = own_counters();
	if (s && count)
		send_sample(ctx, task, process, s, count);
	return 0;
}

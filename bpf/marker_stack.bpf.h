/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks of markers, with the functions of runtimes. A probe captures the current task's stack for
 * the sample in its CPU's runtime_scratch, and keeps its other data in memory as well. It then
 * tail-calls the runtime's program (bpf/runtimes/pending_marker.bpf.h), which adds the frames,
 * sends the stack and continues in an end of the probe: a program that makes the marker. Without a
 * runtime, the probe does all that itself. Include own_scratch.bpf.h first.
 */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/marker.bpf.h"
#include "bpf/marker_ends.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"

/* Programs of runtimes, by enum runtime_kind. */
struct runtime_programs runtime_markers SEC(".maps");
struct runtime_scratches runtime_scratches SEC(".maps");

/*
 * Begins a marker's sample, with pids and time from `head`. Never returns NULL in practice: the
 * check satisfies the verifier.
 */
static __always_inline struct rec_sample *begin_marker_sample(const struct rec *head)
{
	struct runtime_scratch *m = own_runtime_scratch();
	struct rec_sample *sample = m ? &m->pending.sample : NULL;

	if (!sample)
		return NULL;
	rec_init(&sample->rec, REC_SAMPLE, sizeof(*sample), head->time);
	sample->rec.pid = head->pid;
	sample->rec.tid = head->tid;
	return sample;
}

/* Returns memory for the stack of the sample. NULL: the ring has no room for it. */
static __always_inline struct stack_scratch *begin_marker_stack(struct tracked_process *process,
								struct rec_sample *sample)
{
	void *ring = own_ring();

	if (!ring || is_filling(ring) || !user_is_told(process, &sample->rec))
		return NULL;
	return own_stack();
}

/* Begins the sample with the task's user stack. NULL: the ring has no room. */
static __always_inline struct stack_scratch *capture_marker(void *ctx, struct task_struct *task,
							    struct tracked_process *process,
							    struct rec_sample *sample)
{
	struct stack_scratch *s = begin_marker_stack(process, sample);

	if (s)
		capture_user_stack(ctx, task, process, s, sample->rec.pid);
	return s;
}

/*
 * Sends the stack in s. False: there is no room for it. Does not return if the process has a
 * runtime: marker_ends[end] continues. Only for main programs, like go_to_runtime().
 */
#define send_marker_stack(ctx, s, end) \
	({ \
		struct runtime_scratch *m_ = own_runtime_scratch(); \
\
		if (m_ && runtime_adds_frames((s)->runtime)) { \
			m_->program = end; \
			bpf_tail_call(ctx, &runtime_markers, (s)->runtime); \
			count_runtime_missed((s)->runtime); \
		} \
		m_ &&place_stack(s, &m_->pending.sample, MARKER_COPY_BYTES); \
	})

/*
 * Returns, in an end of a probe, the sample that a runtime's program has completed. NULL: no room.
 */
static __always_inline struct rec_sample *ended_marker_sample(void)
{
	struct runtime_scratch *m = own_runtime_scratch();

	return m && m->pending_size ? &m->pending.sample : NULL;
}

/*
 * Defines an end of a probe: `finish` makes the marker of ended_marker_sample(). `timed` is the
 * probe's program, as an enum timed_program, whose run ends with it.
 */
#define MARKER_END(section, name, timed, finish) \
	SEC(section) \
	int name(void *ctx) \
	{ \
		finish; \
		end_run(timed, 0); \
		return 0; \
	}

/*
 * Captures and sends the task's user stack. Returns the sample, with pids and time from `head`;
 * NULL: the ring has no room. Otherwise like send_marker_stack().
 */
#define send_user_marker_stack(ctx, task, process, head, end) \
	({ \
		struct rec_sample *sample_ = begin_marker_sample(head); \
		struct stack_scratch *s_ = NULL; \
\
		if (sample_) \
			s_ = capture_marker(ctx, task, process, sample_); \
		s_ &&send_marker_stack(ctx, s_, end) ? sample_ : NULL; \
	})

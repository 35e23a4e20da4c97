// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends the fields of tracepoints hit by recorded threads, with the stack. The attach cookie is the
 * event's number. As programs of events, these never interrupt each other on a CPU.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

/* Set by user space; indexed by event number. */
const volatile struct tracepoint_layout tracepoint_layouts[EVENTS_MAX] = {};

/* A struct rec_tracepoint under construction, with room for bytes of each kind. */
struct tracepoint_scratch {
	__u64 words[(sizeof(struct rec_tracepoint) + TRACEPOINT_BYTES_MAX +
		     TRACEPOINT_DYNAMIC_MAX * TRACEPOINT_TEXT_MAX) /
		    8];
};

PER_CPU(struct tracepoint_scratch, tracepoint_scratches, own_tracepoint)

/* Strings of a tracepoint, being copied after its fields. */
struct text_copy {
	void *ctx;
	const volatile struct tracepoint_layout *layout;
	struct rec_tracepoint *rec;
	__u32 used; /* number of bytes in the record */
};

/* Copies a string and stores its new offset in its field. Returns 1 after the last one. */
static int copy_text(__u32 i, struct text_copy *c)
{
	__u32 used = c->used, place = 0, at, size;

	if (i >= TRACEPOINT_DYNAMIC_MAX || i >= c->layout->dynamic_count)
		return 1;
	at = c->layout->dynamic[i];
	if (at > TRACEPOINT_BYTES_MAX - sizeof(place) ||
	    used > TRACEPOINT_BYTES_MAX + (TRACEPOINT_DYNAMIC_MAX - 1) * TRACEPOINT_TEXT_MAX)
		return 1;
	bpf_probe_read_kernel(&place, sizeof(place), c->rec->bytes + at);
	size = place >> 16;
	if (size > TRACEPOINT_TEXT_MAX)
		size = TRACEPOINT_TEXT_MAX;
	if (bpf_probe_read_kernel(c->rec->bytes + used, size, c->ctx + (place & 0xffff)))
		size = 0;
	place = used | size << 16;
	bpf_probe_read_kernel(c->rec->bytes + at, sizeof(place), &place);
	c->used = used + size;
	return 0;
}

/* Copies the fields, followed by the strings that they refer to. */
static __always_inline void copy_fields(void *ctx, const volatile struct tracepoint_layout *layout,
					struct rec_tracepoint *rec)
{
	struct text_copy copy = {ctx, layout, rec, layout->size};

	if (copy.used > TRACEPOINT_BYTES_MAX)
		copy.used = TRACEPOINT_BYTES_MAX;
	bpf_probe_read_kernel(rec->bytes, copy.used, ctx);
	bpf_loop(TRACEPOINT_DYNAMIC_MAX, copy_text, &copy, 0);
	rec->size = copy.used;
}

/*
 * Sends the record, with the fields. `sample`: NULL if the ring had no room for its stack. Copies
 * the fields after the stack was captured: their number would multiply the paths through the
 * capture that the verifier checks.
 */
static __always_inline void finish_occurrence(void *ctx, const struct rec_sample *sample)
{
	struct rec_tracepoint *rec = (void *)own_tracepoint();
	__u32 event = rec ? rec->event : EVENTS_MAX;
	bool is_sent = false;

	/* Older verifiers forget the bounds of a number that is spilled. */
	barrier_var(event);
	if (sample && rec && event < EVENTS_MAX) {
		copy_fields(ctx, &tracepoint_layouts[event], rec);
		set_marker_stack(&rec->stack, sample);
		is_sent = send_marker(&rec->rec, sizeof(*rec) + rec->size,
				      sizeof(struct tracepoint_scratch), true);
	}
	count_marker(is_sent);
}

MARKER_END("tracepoint", end_occurrence, TIMED_MARKER_TRACEPOINT,
	   finish_occurrence(ctx, ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_occurrence}};

static __always_inline void tell_occurrence(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process;
	struct rec_tracepoint *rec;
	struct rec_sample *sample;
	struct stack_scratch *s;

	rec = (void *)own_tracepoint();
	if (!markers.since || !task->pid || !rec)
		return;
	rec_init(&rec->rec, REC_TRACEPOINT, sizeof(*rec), bpf_ktime_get_ns());
	process = marker_owner(task, &rec->rec);
	if (!process)
		return;
	rec->event = bpf_get_attach_cookie(ctx);
	sample = begin_marker_sample(&rec->rec);
	s = sample ? begin_marker_stack(process, sample) : NULL;
	if (s)
		capture_stack(ctx, false, task, process, s, rec->rec.pid);
	finish_occurrence(ctx, s && send_marker_stack(ctx, s, 0) ? sample : NULL);
}

SEC("tracepoint")
int on_marker_tracepoint(void *ctx)
{
	RUN_TIMED(TIMED_MARKER_TRACEPOINT, tell_occurrence(ctx));
	return 0;
}

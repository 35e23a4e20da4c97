/* SPDX-License-Identifier: MIT */
/*
 * Spans of threads: starts are paired with ends in order of time, and the self time of each span
 * becomes samples.
 */
#include "lib/format/trace/trace_reader.h"

/* Maximum simultaneously open spans of a thread. Deeper ones become only markers. */
#define OPEN_MAX 1024
/* Limit of distinct stacks. Further spans count for their callers. */
#define STACKS_MAX (1u << 22)
/* Samples are weighted by their time, in this unit. */
#define TICK_NS 1000

/* Later than all times. */
#define FAR (2 * CLOCK_TIME_MAX)

/* Events of rows. */
enum { EDGE_BEGIN = 1, EDGE_END };

/* Weights must not be 0, so the number keeps the highest bit of its lower half set. */
static void row_set_number(struct sample *row, uint64_t number)
{
	row->weight = (uint32_t)number | 1u << 31;
	row->cpu_delta = (uint32_t)(number >> 31);
}

static uint64_t row_number(const struct sample *row)
{
	return (uint64_t)row->cpu_delta << 31 | (row->weight & INT32_MAX);
}

static void add_span(struct trace_thread *thread, uint32_t label, uint64_t start, uint64_t end)
{
	struct sample row = {.time = end, .stack = label, .cpu = NO_CPU, .event = 1};

	if (end == start)
		return;
	row_set_number(&row, end - start);
	samples_add(&thread->spans, &row);
}

/*
 * Reads the name and id of a thread, "thread (12): main", which py-spy writes as the outermost
 * span; its own thread ids are addresses.
 */
static bool read_thread_span(struct trace_reader *r, const struct trace_event *e)
{
	static const char prefix[] = "thread (";
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct trace_thread *thread = &r->threads.items[e->thread];
	const char *at, *end;
	uint64_t tid;

	if (!span_is(&e->s, e->spans[TRACE_CATEGORY], TRACE_PY_SPY))
		return false;
	trace_text(&e->s, e->spans[TRACE_NAME], &text);
	if (!text.size || !text_starts_with(text.text, prefix))
		return false;
	at = text.text + strlen(prefix);
	end = text.text + text.size;
	if (!text_scan_decimal(&at, end, &tid) || tid > INT32_MAX || *at != ')')
		return false;
	if (thread->id == NO_THREAD)
		thread->tid = (uint32_t)tid;
	if (text_starts_with(at, "): "))
		thread->name = strings_intern(&r->f.profile->strings, at + 3);
	return true;
}

void trace_add_edge(struct trace_reader *r, const struct trace_event *e)
{
	struct sample row = {
		.time = e->time,
		.stack = trace_label(r, e),
		.cpu = NO_CPU,
		.event = e->phase == 'B' ? EDGE_BEGIN : EDGE_END,
	};
	uint32_t thread = e->thread;

	if (read_thread_span(r, e))
		return;
	row_set_number(&row, e->spans[TRACE_ARGS].end ? e->offset + e->spans[TRACE_ARGS].start : 0);
	trace_thread_use(r, thread);
	samples_add(&r->threads.items[thread].edges, &row);
}

void trace_add_span(struct trace_reader *r, const struct trace_event *e)
{
	/* Some writers have a clock of the thread's own time alone. */
	enum trace_member clock = e->spans[TRACE_DURATION].end ? TRACE_DURATION
							       : TRACE_CPU_DURATION;
	uint64_t length = trace_ns(&e->s, e->spans[clock], TRACE_US);
	struct trace_marker marker = {
		.start = e->time,
		.end = e->time,
		.args = e->spans[TRACE_ARGS].end ? e->offset + e->spans[TRACE_ARGS].start : 0,
		.from = INDEX_NONE,
		.kind = KIND_SPAN,
	};
	struct trace_thread *thread;

	if (length != CLOCK_NO_TIME && clock_can_show(marker.start + length))
		marker.end += length;
	marker.label = trace_label(r, e);
	marker.thread = e->thread;
	marker.stack = trace_stack_of(r, e);
	trace_marker_add(r, &marker);
	thread = &r->threads.items[marker.thread];
	if (marker.end > r->end)
		r->end = marker.end;
	thread->is_late |= e->time < thread->last_start;
	thread->last_start = e->time;
	trace_thread_use(r, marker.thread);
	add_span(thread, marker.label, marker.start, marker.end);
}

/* Pairs. */

struct begins {
	VEC(struct trace_marker) rows;
};

static void end_span(struct trace_reader *r, struct begins *open, uint64_t time, uint64_t args)
{
	struct trace_marker marker = vec_last(&open->rows);
	struct trace_thread *thread = &r->threads.items[marker.thread];

	open->rows.count--;
	marker.end = time;
	if (!marker.args)
		marker.args = args;
	trace_marker_add(r, &marker);
	add_span(thread, marker.label, marker.start, marker.end);
}

/* An end ends the innermost span, whatever its name. */
static void pair_edges(struct trace_reader *r, uint32_t thread, struct begins *open)
{
	samples_for_each(&r->threads.items[thread].edges, row) {
		const struct trace_marker begin = {
			.start = row->time,
			.label = row->stack,
			.args = row_number(row),
			.thread = thread,
			.stack = NO_STACK,
			.from = INDEX_NONE,
			.kind = KIND_SPAN,
		};

		if (row->event == EDGE_BEGIN)
			vec_push(&open->rows, begin);
		else if (open->rows.count)
			end_span(r, open, row->time, begin.args);
		else
			r->f.counts->unread[UNREAD_MARKERS]++;
	}
	while (open->rows.count)
		end_span(r, open, r->end, 0);
	r->threads.items[thread].is_late = true;
	samples_release(&r->threads.items[thread].edges);
}

void trace_edges_finish(struct trace_reader *r)
{
	struct begins open = {0};

	for (uint32_t i = 0; i < r->threads.count; i++) {
		if (samples_count(&r->threads.items[i].edges))
			pair_edges(r, i, &open);
	}
	vec_release(&open.rows);
}

/* Samples. */

struct open_span {
	uint64_t start, end;
	uint32_t label;
	stack_id stack; /* including all spans around it */
};

/*
 * The spans of a thread at a moment, by their starts. The reader goes back in time: spans arrive by
 * their ends, the last one first, so that outer ones precede inner ones, and leave at their starts,
 * innermost first.
 */
struct timeline {
	struct trace_reader *r;
	const struct trace_thread *thread;
	struct open_span open[OPEN_MAX];
	uint32_t count;
	uint64_t now;
	struct samples back; /* samples, with times counted back from the end */
};

static stack_id stack_of(struct timeline *t, stack_id outer, uint32_t label)
{
	struct stacks *stacks = &t->r->f.profile->stacks;

	if (stacks->rows.count >= STACKS_MAX && outer != NO_STACK)
		return outer;
	return stacks_intern(stacks, outer, trace_label_frame(t->r, label));
}

/* Adds the time between `time` and now to the innermost span. Its weight is set later. */
static void go_back(struct timeline *t, uint64_t time)
{
	struct sample row = {.time = FAR - t->now, .cpu = NO_CPU, .event = 1};

	row.stack = t->open[t->count - 1].stack;
	row_set_number(&row, t->now - time);
	samples_add(&t->back, &row);
	t->now = time;
}

/* Goes back to the time, leaving spans that start after it. */
static void go_back_to(struct timeline *t, uint64_t time)
{
	while (t->count && t->now > time) {
		uint64_t start = t->open[t->count - 1].start;

		if (start < t->now)
			go_back(t, start > time ? start : time);
		if (start >= time)
			t->count--;
	}
	t->now = time;
}

/*
 * Among spans with equal times, the first one in the file is the outermost, or the last one if
 * is_late.
 */
static bool is_outside(const struct timeline *t, const struct open_span *span, uint64_t start,
		       uint64_t end)
{
	if (span->start != start)
		return span->start < start;
	return span->end > end || t->thread->is_late;
}

/* If spans overlap in part, the later one is inside while both last. */
static void enter(struct timeline *t, uint32_t label, uint64_t start, uint64_t end)
{
	uint32_t at = t->count;

	if (t->count == OPEN_MAX)
		return;
	while (at && !is_outside(t, &t->open[at - 1], start, end))
		at--;
	memmove(t->open + at + 1, t->open + at, (t->count - at) * sizeof(*t->open));
	t->open[at] = (struct open_span){.start = start, .end = end, .label = label};
	t->count++;
	for (; at < t->count; at++)
		t->open[at].stack = stack_of(t, at ? t->open[at - 1].stack : NO_STACK,
					     t->open[at].label);
}

/* Rounds the sum of all times so far, so that errors do not accumulate. */
static void add_samples(struct timeline *t)
{
	uint64_t passed = 0, ticks = 0;

	samples_for_each_back(&t->back, row) {
		uint64_t length = row_number(row), start = FAR - row->time - length, before = ticks;

		passed += length;
		ticks = passed / TICK_NS + (passed % TICK_NS >= TICK_NS / 2);
		foreign_sample(&t->r->f, t->thread->id, 0, start, row->stack, ticks - before);
	}
}

static void add_thread(struct timeline *t, struct trace_thread *thread)
{
	t->thread = thread;
	t->count = 0;
	samples_for_each_back(&thread->spans, row) {
		uint64_t start = row->time - row_number(row);

		go_back_to(t, row->time);
		enter(t, row->stack, start, row->time);
	}
	go_back_to(t, 0);
	samples_release(&thread->spans);
	add_samples(t);
	samples_release(&t->back);
}

void trace_spans_finish(struct trace_reader *r)
{
	struct timeline *t = xcalloc(1, sizeof(*t));

	t->r = r;
	r->f.profile->meta.interval_ns = TICK_NS;
	vec_for_each(&r->threads, struct trace_thread *, thread) {
		if (thread->has_number && r->processes.items[thread->process].has_number &&
		    samples_count(&thread->spans))
			add_thread(t, thread);
	}
	free(t);
}

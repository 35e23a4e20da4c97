/* SPDX-License-Identifier: MIT */
#include "lib/query/stack_chart.h"

/* Deeper frames are left out. */
#define DEPTH_MAX 256

/* A stack from one time to another. */
struct slice {
	uint64_t from, until;
	stack_id stack;
};

struct making {
	struct stack_chart *chart;
	const struct stack_chart_options *options;
	VEC(struct slice) slices;
	struct slice pending; /* the longest in its bin so far */
	uint64_t pending_bin;
	bool has_pending;
	uint64_t before; /* the end of the row before */
	struct stack_span open[DEPTH_MAX];
	uint32_t open_count;
};

static void flush(struct making *m)
{
	if (m->has_pending)
		vec_push(&m->slices, m->pending);
	m->has_pending = false;
}

static void add_slice(struct making *m, struct slice slice)
{
	const struct stack_chart_options *o = m->options;
	uint64_t bin = (o->until - o->from) / o->bins + 1, number;

	if (slice.until <= o->from || slice.from >= o->until)
		return;
	slice.from = slice.from < o->from ? o->from : slice.from;
	slice.until = slice.until > o->until ? o->until : slice.until;
	number = (slice.from - o->from) / bin;
	if (m->has_pending && number == m->pending_bin) {
		if (slice.until - slice.from > m->pending.until - m->pending.from)
			m->pending = slice;
		return;
	}
	flush(m);
	m->pending = slice;
	m->pending_bin = number;
	m->has_pending = true;
}

static void visit(void *ctx, const struct query *q, thread_id thread, const struct sample *sample,
		  stack_id shown)
{
	struct making *m = ctx;
	const struct stack_chart_options *o = m->options;
	uint64_t interval = q->profile->meta.interval_ns, time, size;

	if (!sample->weight)
		return;
	time = profile_since_start(q->profile, sample->time);
	if (q->event) {
		size = (o->until - o->from) / o->bins + 1;
		add_slice(m, (struct slice){time, time + size, shown});
		return;
	}
	size = (uint64_t)sample->weight * (interval ? interval : 1);
	size = time > m->before && size > time - m->before ? time - m->before : size;
	m->before = time;
	if (size && size <= time)
		add_slice(m, (struct slice){time - size, time, shown});
}

/* Lists the shown frames of a stack, the outermost first; returns their number. */
static uint32_t list_frames(const struct query *q, stack_id stack, stack_id *frames)
{
	uint32_t depth = 0, skipped = 0;

	for (stack_id id = stack; id != NO_STACK; id = q->parents[id])
		depth++;
	if (depth > DEPTH_MAX)
		skipped = depth - DEPTH_MAX;
	for (stack_id id = stack; id != NO_STACK; id = q->parents[id]) {
		depth--;
		if (depth < DEPTH_MAX)
			frames[depth] = id;
	}
	for (depth = 0; stack != NO_STACK; stack = q->parents[stack])
		depth++;
	return depth - skipped;
}

static void close_from(struct making *m, uint32_t depth)
{
	for (uint32_t i = depth; i < m->open_count; i++)
		vec_push(&m->chart->spans, m->open[i]);
	m->open_count = MIN(m->open_count, depth);
}

/* Continues the functions that the stack has in common with the one before. */
static void join(struct making *m, const struct query *q, const struct slice *slice, uint64_t gap)
{
	stack_id frames[DEPTH_MAX];
	const uint32_t *keys = m->options->keys->of_stacks;
	uint32_t count = list_frames(q, slice->stack, frames), same = 0;

	while (same < count && same < m->open_count && m->open[same].key == keys[frames[same]] &&
	       slice->from <= m->open[same].until + gap)
		m->open[same++].until = slice->until;
	close_from(m, same);
	for (uint32_t i = same; i < count; i++)
		m->open[i] = (struct stack_span){.key = keys[frames[i]],
						 .depth = i,
						 .stack = frames[i],
						 .from = slice->from,
						 .until = slice->until};
	m->open_count = count;
	m->chart->depth = MAX(m->chart->depth, count);
}

int stack_chart_make(struct stack_chart *c, const struct profile *p,
		     const struct query_filter *filter, const struct stack_chart_options *options,
		     struct error *err)
{
	_cleanup_free_ bool *threads = xcalloc(p->threads.rows.count + 1, sizeof(*threads));
	_cleanup_free_ struct making *m = xcalloc(1, sizeof(*m));
	struct query_filter of_thread = *filter;
	uint64_t bin = (options->until - options->from) / options->bins + 1;
	uint64_t gap = bin + p->meta.interval_ns / 2;
	struct query q;
	int ret;

	*c = (struct stack_chart){0};
	m->chart = c;
	m->options = options;
	threads[options->thread] = !filter->threads || filter->threads[options->thread];
	of_thread.threads = threads;
	ret = query_select_each(&q, p, &of_thread, visit, m, err);
	if (ret) {
		vec_release(&m->slices);
		return ret;
	}
	flush(m);
	vec_for_each(&m->slices, const struct slice *, slice)
		join(m, &q, slice, gap);
	close_from(m, 0);
	vec_release(&m->slices);
	query_release(&q);
	return 0;
}

void stack_chart_release(struct stack_chart *c)
{
	vec_release(&c->spans);
}

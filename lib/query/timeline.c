/* SPDX-License-Identifier: MIT */
#include "lib/query/timeline.h"

uint32_t query_timeline_kinds(const struct query *q)
{
	size_t own = q->profile->categories.count;

	return QUERY_WAIT_COUNT + (uint32_t)(own ? own : CATEGORY_COUNT);
}

/*
 * Spreads an amount evenly over the part of [from, until) within the timeline, whose parts are
 * `bin` long.
 */
static void spread(struct query_timeline *t, double bin, uint32_t kind, uint64_t from,
		   uint64_t until, double amount)
{
	double rate, at = (double)(from - t->from);
	uint32_t i = from >= t->from && until <= t->until ? (uint32_t)(at / bin) : t->bins;

	/* Most are in one part. */
	if (i < t->bins && (double)(until - t->from) <= bin * (i + 1)) {
		t->times[i * t->kinds + kind] += (float)amount;
		return;
	}
	rate = amount / (double)(until - from);

	from = MAX(from, t->from);
	until = MIN(until, t->until);
	if (from >= until)
		return;
	at = (double)(from - t->from);
	for (i = (uint32_t)(at / bin); i < t->bins && at < (double)(until - t->from); i++) {
		double end = (double)(until - t->from), next = bin * (i + 1);

		end = MIN(end, next);
		if (end > at)
			t->times[i * t->kinds + kind] += (float)(rate * (end - at));
		at = end;
	}
}

static uint32_t kind_of(const struct query *q, const struct sample *sample)
{
	enum query_wait wait = sample->stack == NO_STACK ? QUERY_RUNS
							 : query_wait_of(q, sample->stack);

	if (wait)
		return wait;
	return QUERY_WAIT_COUNT +
	       (sample->stack == NO_STACK ? 0 : q->categories[sample->stack].category);
}

static void add_thread(struct query_timeline *t, const struct query *q, thread_id thread)
{
	const struct profile *p = q->profile;
	uint64_t start = p->meta.start_ns, interval = p->meta.interval_ns, before = 0;
	double bin = (double)(t->until - t->from) / t->bins;

	samples_for_each(&p->threads.rows.items[thread].samples, sample) {
		uint64_t time = sample->time > start ? sample->time - start : 0;
		double weight = (double)sample->weight * (double)(interval ? interval : 1);
		uint64_t from = before;
		uint32_t kind;

		if (sample->event)
			continue;
		if (weight < (double)time && time - (uint64_t)weight > before)
			from = time - (uint64_t)weight;
		before = time;
		if (from >= t->until)
			break;
		if (!sample->weight || from >= time || time <= t->from)
			continue;
		kind = kind_of(q, sample);
		if (kind >= t->kinds)
			continue;
		if (kind < QUERY_WAIT_COUNT)
			weight = (double)(time - from);
		else if (sample->cpu_delta)
			weight = sample->cpu_delta;
		/* A thread uses one CPU at most: the rest was used before a wait that has a row. */
		if (weight > (double)(time - from))
			from = weight < (double)time ? time - (uint64_t)weight : 0;
		spread(t, bin, kind, from, time, weight);
	}
}

static uint32_t bin_at(const struct query_timeline *t, uint64_t time)
{
	double part = (double)(time - t->from) / (double)(t->until - t->from);
	uint32_t bin = (uint32_t)(part * t->bins);

	return bin < t->bins ? bin : t->bins - 1;
}

static void add_amount(struct query_timeline *t, const struct query *q, const struct sample *sample)
{
	uint64_t time = profile_since_start(q->profile, sample->time);
	uint32_t kind = kind_of(q, sample);

	if (time >= t->from && time < t->until && kind < t->kinds)
		t->times[bin_at(t, time) * t->kinds + kind] += (float)sample->weight;
}

static void add_amounts(struct query_timeline *t, const struct query *q, thread_id id)
{
	const struct profile_thread *thread = &q->profile->threads.rows.items[id];

	samples_for_each(&thread->samples, sample) {
		if (sample->event == q->event)
			add_amount(t, q, sample);
	}
	allocators_for_each(&q->allocators, id, row) {
		const struct sample sample = query_allocation_sample(q, row->allocation);

		if (sample.weight)
			add_amount(t, q, &sample);
	}
}

void query_timeline_make(struct query_timeline *t, const struct query *q, thread_id thread)
{
	t->kinds = query_timeline_kinds(q);
	t->times = xcalloc((size_t)t->bins * t->kinds + 1, sizeof(*t->times));
	for (thread_id id = 0; id < q->profile->threads.rows.count; id++) {
		if (thread != NO_THREAD && thread != id)
			continue;
		if (q->event)
			add_amounts(t, q, id);
		else
			add_thread(t, q, id);
	}
}

/* Bins without a change have the level of the previous bin. */
static void fill_levels(const struct query_timeline *t, const struct counter *counter,
			uint64_t start, double *values)
{
	int64_t level = 0, before = 0;
	uint32_t filled = 0;

	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		uint64_t time = sample->time > start ? sample->time - start : 0;
		uint32_t bin;

		before = level;
		level = counter_add(level, sample->delta);
		if (time < t->from)
			continue;
		if (time >= t->until) {
			level = before;
			break;
		}
		bin = bin_at(t, time);
		while (filled <= bin)
			values[filled++] = (double)before;
		if ((double)level > values[bin])
			values[bin] = (double)level;
	}
	while (filled < t->bins)
		values[filled++] = (double)level;
}

static void fill_rates(const struct query_timeline *t, const struct counter *counter,
		       uint64_t start, double *values)
{
	double bin_seconds = (double)(t->until - t->from) / 1e9 / t->bins;

	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		uint64_t time = sample->time > start ? sample->time - start : 0;

		if (time >= t->from && time < t->until)
			values[bin_at(t, time)] += (double)sample->delta / bin_seconds;
	}
}

double *query_timeline_counter(const struct query_timeline *t, const struct profile *p,
			       counter_id id)
{
	const struct counter *counter = &p->counters.rows.items[id];
	double *values = xcalloc(t->bins + 1, sizeof(*values));

	if (counter->graph == COUNTER_LEVEL)
		fill_levels(t, counter, p->meta.start_ns, values);
	else
		fill_rates(t, counter, p->meta.start_ns, values);
	return values;
}

static uint8_t mark_of(const struct profile *p, const struct schema *schema)
{
	static const enum marker_id losses[] = {MARKER_LOST, MARKER_LOST_EVENTS, MARKER_THROTTLED};
	const char *name = strings_get(&p->strings, schema->name);
	uint32_t group = (schema->shown & SHOWN_GROUP_MASK) >> SHOWN_GROUP_SHIFT;

	if (!strcmp(name, marker_schema(MARKER_PAUSE)->name))
		return TIMELINE_PAUSE;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (!strcmp(name, marker_schema(losses[i])->name))
			return TIMELINE_LOSS;
	}
	return schema->shown & SHOWN_IN_OVERVIEW && group != GROUP_WAITS ? TIMELINE_MARK : 0;
}

static void add_mark(const struct query_timeline *t, const struct marker *marker, uint64_t start,
		     uint8_t mark, uint8_t *marks)
{
	uint64_t from = marker->start > start ? marker->start - start : 0;
	uint64_t until = marker->end > start ? marker->end - start : 0;

	if (!mark || until < t->from || from >= t->until)
		return;
	for (uint32_t i = bin_at(t, from > t->from ? from : t->from);
	     i <= bin_at(t, until < t->until ? until : t->until); i++)
		marks[i] |= mark;
}

uint8_t *query_timeline_marks(const struct query_timeline *t, const struct profile *p,
			      thread_id thread)
{
	size_t schemas = p->markers.schemas.rows.count;
	_cleanup_free_ uint8_t *of_schemas = xcalloc(schemas + 1, 1);
	uint8_t *marks = xcalloc((size_t)t->bins + 1, 1);

	for (size_t i = 0; i < schemas; i++)
		of_schemas[i] = mark_of(p, &p->markers.schemas.rows.items[i]);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		if (thread != NO_THREAD && thread != id)
			continue;
		vec_for_each(&p->threads.rows.items[id].markers, const struct marker *, marker)
			add_mark(t, marker, p->meta.start_ns, of_schemas[marker->schema], marks);
	}
	return marks;
}

void query_timeline_release(struct query_timeline *t)
{
	free(t->times);
	t->times = NULL;
}

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

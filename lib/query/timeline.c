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

/* SPDX-License-Identifier: MIT */
#include "lib/query/narrow.h"

#include "lib/model/tables/copy.h"
#include "lib/query/copy_rows.h"
#include "lib/query/runs.h"

struct narrowing {
	struct profile *into;
	struct row_copier *rows;
	struct copy_rules rules;
	const struct query *query;
	const stack_id *stacks; /* new stack by stack_id */
	const struct profile *from;
	const struct query_filter *filter;
	uint64_t offset_ns; /* start of the profile in the new profile */
	/* By the number of a marker's first value: the copy's number plus 1; 0: not copied. */
	uint32_t *values;
	thread_id *threads; /* new thread by thread_id; NO_THREAD: left out */
	uint8_t events[UINT8_MAX + 1]; /* new event by event; UINT8_MAX: not mapped yet */
	bool *is_used; /* by stack_id */
	size_t first_thread; /* threads before it belong to other profiles */
	struct narrow_counts *counts;
	struct tick_scale scale; /* of clock samples */
};

static uint64_t time_in(void *ctx, uint64_t time)
{
	const struct narrowing *n = ctx;

	return profile_since_start(n->from, time) + n->offset_ns;
}

/* Counts the processes of a pid in the previous profiles. */
static uint32_t used_incarnations(const struct narrowing *n, uint32_t pid)
{
	uint32_t count = 0;

	for (size_t i = 0; i < n->first_thread; i++) {
		const struct profile_thread *row = &n->into->threads.rows.items[i];

		if (row->pid == pid && row->incarnation >= count)
			count = row->incarnation + 1;
	}
	return count;
}

static void add_thread(struct narrowing *n, thread_id id)
{
	const struct profile_thread *from = &n->from->threads.rows.items[id];
	struct profile_thread row = copy_thread_row(from, &n->rules);

	row.incarnation += used_incarnations(n, from->pid);
	n->threads[id] = threads_add(&n->into->threads, &row);
}

/* Returns an event's number in the new profile; 0 if there is no room. */
static uint8_t event_in(struct narrowing *n, uint8_t event)
{
	if (event && n->events[event] == UINT8_MAX)
		n->events[event] = query_copy_event(n->into, n->from, event);
	return event ? n->events[event] : 0;
}

static bool has_user_frame(const struct profile *p, stack_id stack)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		uint8_t kind = profile_frame_of(p, stack)->kind;

		if (kind != PROFILE_FRAME_KERNEL && kind != PROFILE_FRAME_LABEL)
			return true;
	}
	return false;
}

static void take_sample(void *ctx, const struct query *q, thread_id thread,
			const struct sample *sample, stack_id shown)
{
	struct narrowing *n = ctx;
	struct sample row = *sample;

	row.event = event_in(n, sample->event);
	if (sample->event && !row.event)
		return;
	if (!row.event)
		row.weight = row_scale_ticks(&n->scale, row.weight);
	row.time = time_in(n, sample->time);
	row.stack = shown;
	if (shown != NO_STACK)
		n->is_used[shown] = true;
	n->into->stats.user_stacks += !profile_is_wait(n->from, sample) &&
				      has_user_frame(n->from, sample->stack);
	if (row.event) {
		struct event_count *count = event_counts_get(&n->into->events, row.event);

		count->samples++;
		count->weight += row.weight;
	} else {
		n->into->stats.cpu_samples += row.weight;
	}
	samples_add(&threads_get(&n->into->threads, n->threads[thread])->samples, &row);
}

static stack_id shown_stack(const struct query *q, stack_id stack)
{
	return stack == NO_STACK || q->is_shown[stack] ? stack : q->parents[stack];
}

static string_id text_in(void *ctx, string_id id)
{
	const struct narrowing *n = ctx;

	return row_copier_list(n->rows, id);
}

static stack_id stack_in(void *ctx, stack_id id)
{
	const struct narrowing *n = ctx;
	stack_id shown = shown_stack(n->query, id);

	return shown == NO_STACK ? NO_STACK : n->stacks[shown];
}

static bool has_times(const struct narrowing *n, uint64_t first, uint64_t last)
{
	return profile_since_start(n->from, first) < n->filter->until &&
	       profile_since_start(n->from, last) >= n->filter->from;
}

static bool has_time(const struct narrowing *n, const struct marker *marker)
{
	return has_times(n, marker->start, marker->end);
}

/* Allocations are kept in full if all events are kept. */
static bool has_allocation(const struct narrowing *n, const struct allocation *row)
{
	return n->filter->all_events && has_times(n, row->time, row->time);
}

static void use_allocations(struct narrowing *n, const struct query *q,
			    const struct profile_thread *thread)
{
	vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
		stack_id stack = has_allocation(n, row) ? shown_stack(q, row->stack) : NO_STACK;

		if (stack != NO_STACK)
			n->is_used[stack] = true;
	}
}

static void add_allocations(struct narrowing *n, const struct profile_thread *from,
			    struct profile_thread *into)
{
	vec_for_each(&from->allocations.rows, const struct allocation *, row) {
		if (has_allocation(n, row))
			vec_push(&into->allocations.rows, copy_allocation_row(row, &n->rules));
	}
}

/* Marks the stacks of all kept markers and allocations. */
static void use_markers(struct narrowing *n, const struct query *q)
{
	const struct markers *markers = &n->from->markers;

	for (thread_id id = 0; id < n->from->threads.rows.count; id++) {
		const struct profile_thread *thread = &n->from->threads.rows.items[id];

		if (n->threads[id] == NO_THREAD)
			continue;
		use_allocations(n, q, thread);
		vec_for_each(&thread->markers, const struct marker *, marker) {
			const struct schema *schema = schemas_get(&markers->schemas,
								  marker->schema);

			for (uint32_t i = 0; has_time(n, marker) && i <= schema->field_count; i++) {
				const struct marker_value *value = marker_value(markers, marker, i);
				stack_id stack = value->type == FIELD_STACK
							 ? shown_stack(q, value->stack)
							 : NO_STACK;

				if (stack != NO_STACK)
					n->is_used[stack] = true;
			}
		}
	}
}

/* Copies the values of a marker once, though markers may share them. Returns the first one. */
static uint32_t copy_values(struct narrowing *n, const struct marker *from, schema_id schema)
{
	struct markers *into = &n->into->markers;
	uint32_t *known = &n->values[from->first_value];
	struct marker row;

	if (*known)
		return *known - 1;
	row = markers_make(into, schema, 0, 0);
	for (uint32_t i = 0; i <= schemas_get(&into->schemas, schema)->field_count; i++)
		*marker_value(into, &row, i) =
			copy_marker_value(marker_value(&n->from->markers, from, i), &n->rules);
	*known = row.first_value + 1;
	return row.first_value;
}

static void add_marker(struct narrowing *n, struct profile_thread *thread,
		       const struct marker *from)
{
	schema_id schema = row_copier_schema(n->rows, from->schema);
	struct marker row;

	if (schema == NO_SCHEMA) {
		n->counts->lost_markers++;
		return;
	}
	row = copy_marker_row(schema, from, &n->rules);
	row.first_value = copy_values(n, from, schema);
	vec_push(&thread->markers, row);
}

/* Maps samples to their new stacks, and adds markers to threads. */
static void finish_threads(struct narrowing *n)
{
	for (thread_id id = 0; id < n->from->threads.rows.count; id++) {
		const struct profile_thread *from = &n->from->threads.rows.items[id];
		struct profile_thread *into;

		if (n->threads[id] == NO_THREAD)
			continue;
		into = threads_get(&n->into->threads, n->threads[id]);
		samples_change_each(&into->samples, sample) {
			if (sample->stack != NO_STACK)
				sample->stack = n->stacks[sample->stack];
		}
		vec_for_each(&from->markers, const struct marker *, marker) {
			if (has_time(n, marker))
				add_marker(n, into, marker);
		}
		add_allocations(n, from, into);
	}
}

/* Copies the samples within the filter's time. A level begins with its previous value. */
static void add_counter_samples(struct narrowing *n, const struct counter *from,
				struct counter *into)
{
	uint64_t start = n->from->meta.start_ns, begin = time_in(n, start + n->filter->from);
	bool is_level = from->graph == COUNTER_LEVEL;

	vec_for_each(&from->samples, const struct counter_sample *, sample) {
		uint64_t time = sample->time < start ? 0 : sample->time - start;
		struct counter_sample row = {time_in(n, sample->time), sample->delta};
		bool is_before = time < n->filter->from;

		if (time >= n->filter->until)
			break;
		if (is_before && !is_level)
			continue;
		if (is_before)
			row.time = begin;
		if (into->samples.count && vec_last(&into->samples).time == row.time)
			vec_last(&into->samples).delta += row.delta;
		else
			vec_push(&into->samples, row);
	}
}

static void add_counters(struct narrowing *n)
{
	if (n->filter->process || n->filter->thread)
		return;
	vec_for_each(&n->from->counters.rows, const struct counter *, from) {
		struct counter row = copy_counter_row(from, &n->rules);

		row.incarnation += row.pid ? used_incarnations(n, row.pid) : 0;
		add_counter_samples(n, from, &row);
		if (profile_counters_add(&n->into->counters, &row) == NO_COUNTER)
			vec_release(&row.samples);
	}
}

static int add_profile(struct narrowing *n, struct error *err)
{
	const struct profile *p = n->from;
	_cleanup_free_ thread_id *threads = xcalloc(p->threads.rows.count + 1, sizeof(*threads));
	_cleanup_free_ bool *is_used = xcalloc(p->stacks.rows.count + 1, sizeof(*is_used));
	_cleanup_free_ uint32_t *values = xcalloc(p->markers.values.count + 1, sizeof(*values));
	_cleanup_free_ bool *is_selected = query_select_threads(p, n->filter);
	_cleanup_free_ stack_id *stacks = NULL;
	struct query q;
	int ret;

	n->values = values;
	n->threads = threads;
	n->is_used = is_used;
	n->first_thread = n->into->threads.rows.count;
	n->rows = row_copier_new(n->into, p);
	n->rules = (struct copy_rules){n, text_in, time_in, stack_in};
	memset(n->events, UINT8_MAX, sizeof(n->events));
	/* Events without samples stay, too. */
	for (size_t i = 1; n->filter->all_events && i < p->events.rows.count; i++)
		event_in(n, (uint8_t)i);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		threads[id] = NO_THREAD;
		if (is_selected[id])
			add_thread(n, id);
	}
	ret = query_select_each(&q, p, n->filter, take_sample, n, err);
	if (!ret) {
		use_markers(n, &q);
		stacks = row_copier_stacks(n->rows, &q, is_used);
		n->query = &q;
		n->stacks = stacks;
		finish_threads(n);
		add_counters(n);
		query_release(&q);
	}
	row_copier_free(n->rows);
	return ret;
}

int narrow(struct profile **into, const struct profile *const *profiles, size_t count,
	   const struct query_filter *filter, struct narrow_counts *counts, struct error *err)
{
	struct narrowing n = {.filter = filter, .counts = counts};
	struct joined_ticks ticks;
	int ret = row_join_ticks(&ticks, profiles, count, err);
	uint64_t start = 0;

	if (ret)
		return ret;
	n.into = profile_new();
	for (size_t i = 0; i < count; i++) {
		uint64_t own = profiles[i]->meta.start_realtime_ns;

		if (own && (!start || own < start))
			start = own;
	}
	for (size_t i = 0; !ret && i < count; i++) {
		n.from = profiles[i];
		/* Profiles without a date start at the same time as the first. */
		n.offset_ns = 0;
		if (n.from->meta.start_realtime_ns)
			n.offset_ns = n.from->meta.start_realtime_ns - start;
		n.scale = row_tick_scale(&ticks, n.from);
		row_copy_meta(n.into, n.from, n.offset_ns, i == 0, count == 1);
		ret = add_profile(&n, err);
	}
	n.into->meta.start_realtime_ns = start;
	n.into->meta.interval_ns = ticks.interval_ns;
	n.into->meta.sample_ticks = ticks.sample_ticks;
	if (ret)
		profile_free(n.into);
	else
		*into = n.into;
	return ret;
}

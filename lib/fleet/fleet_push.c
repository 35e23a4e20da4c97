/* SPDX-License-Identifier: MIT */
#include "lib/fleet/fleet_push.h"

#include "lib/fleet/engine_kind.h"
#include "lib/fleet/resources.h"
#include "lib/fleet/sql.h"
#include "lib/fleet/stack_rows.h"

/* Default size of a request, in bytes. */
#define REQUEST_BYTES ((size_t)2 << 20)
#define NS_PER_SECOND 1000000000ull

/* All samples of a window with the same stack, event and process. */
struct sum {
	uint32_t time; /* time of the window in seconds since the Unix epoch */
	uint32_t row; /* row of the stack */
	uint32_t resource;
	uint8_t event;
	uint64_t value;
};

/* The sums [first, end) of one window. */
struct window {
	size_t first, end;
	uint64_t id, batch;
	bool is_known;
};

struct push {
	const struct engine *engine;
	const struct profile *profile;
	const struct fleet_origin *origin;
	struct stack_rows stacks;
	struct fleet_resources resources;
	VEC(struct sum) sums; /* in the end sorted by window */
	struct index index;
	VEC(struct window) windows;
	struct strbuf rows; /* request being built */
};

INDEX_EQUAL(sum_equal, struct push, sums,
	    a->time == b->time && a->row == b->row && a->resource == b->resource &&
		    a->event == b->event)

static void add_sum(struct push *w, const struct sum *sum)
{
	uint64_t hash = hash_pair(hash_pair(sum->time, sum->row),
				  hash_pair(sum->resource, sum->event));
	uint32_t id = index_find(&w->index, hash, sum_equal, w, sum);

	if (id == INDEX_NONE) {
		index_add(&w->index, hash, (uint32_t)w->sums.count);
		vec_push(&w->sums, *sum);
	} else {
		w->sums.items[id].value += sum->value;
	}
}

static uint32_t window_time(const struct profile_meta *meta, uint64_t time)
{
	uint64_t since = time > meta->start_ns ? time - meta->start_ns : 0;
	uint64_t seconds = (meta->start_realtime_ns + since) / NS_PER_SECOND;

	return (uint32_t)(seconds - seconds % FLEET_WINDOW_S);
}

static void add_up(struct push *w)
{
	const struct profile *p = w->profile;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		struct sum sum = {
			.resource = w->resources.of_threads[thread - p->threads.rows.items]};

		samples_for_each(&thread->samples, sample) {
			if (!sample->weight)
				continue;
			sum.time = window_time(&p->meta, w->origin->is_window ? 0 : sample->time);
			sum.row = stack_rows_intern(&w->stacks, sample->stack);
			sum.event = sample->event;
			sum.value = sample->weight;
			add_sum(w, &sum);
		}
	}
}

/* Appends a row's columns other than time, batch and host. */
static void add_values(const struct push *w, const struct sum *sum, struct strbuf *out)
{
	const struct profile *p = w->profile;
	const struct stack_row *stack = &w->stacks.rows.items[sum->row];
	const struct fleet_resource *resource = &w->resources.rows.items[sum->resource];

	rows_add_text(out, resource->service);
	rows_add_text(out, resource->container);
	rows_add_text(out, resource->executable);
	rows_add_text(out, sum->event
				   ? strings_get(&p->strings, p->events.rows.items[sum->event].name)
				   : "clock");
	rows_add_u64(out, sum->event ? 0 : p->meta.interval_ns);
	rows_add_u8(out, !sum->event && stack->is_wait);
	strbuf_add(out, &stack->key, sizeof(stack->key));
	rows_add_u64(out, sum->value);
}

ORDER(compare_times, struct sum, COMPARE(a->time, b->time))

/* Returns the id of a window, the same for each copy of a recording. */
static uint64_t window_id(struct push *w, uint32_t time)
{
	strbuf_reset(&w->rows);
	rows_add_text(&w->rows, w->origin->host);
	rows_add_text(&w->rows, w->origin->service ? w->origin->service : "");
	rows_add_u64(&w->rows, w->profile->meta.start_realtime_ns);
	rows_add_u32(&w->rows, time);
	return hash_bytes(w->rows.text, w->rows.size, 0);
}

/* Covers the contents in any order: the same window with other names is a different batch. */
static uint64_t batch_id(struct push *w, const struct window *window)
{
	uint64_t hash = window->id;

	for (size_t i = window->first; i < window->end; i++) {
		strbuf_reset(&w->rows);
		add_values(w, &w->sums.items[i], &w->rows);
		hash += hash_bytes(w->rows.text, w->rows.size, 1);
	}
	return hash_u64(hash);
}

static void find_windows(struct push *w)
{
	vec_sort(&w->sums, compare_times);
	for (size_t i = 0; i < w->sums.count;) {
		struct window window = {.first = i};
		uint32_t time = w->sums.items[i].time;

		while (i < w->sums.count && w->sums.items[i].time == time)
			i++;
		window.end = i;
		window.id = window_id(w, time);
		window.batch = batch_id(w, &window);
		vec_push(&w->windows, window);
	}
}

static uint32_t time_of(const struct push *w, const struct window *window)
{
	return w->sums.items[window->first].time;
}

/* Marks the windows that the engine already has. */
static int find_known(struct push *w, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf sql = {0}, answer = {0};
	VEC(uint64_t) known = {0};
	struct bytes b;
	int ret;

	strbuf_addf(&sql,
		    "SELECT DISTINCT window_id FROM prof_windows WHERE time >= toDateTime(%" PRIu32
		    ") AND time <= toDateTime(%" PRIu32 ") AND host = ",
		    time_of(w, &w->windows.items[0]), time_of(w, &vec_last(&w->windows)));
	sql_add_text(&sql, w->origin->host, strlen(w->origin->host));
	strbuf_adds(&sql, " FORMAT RowBinary");
	ret = engine_run(w->engine, strbuf_text(&sql), false, &answer, err);
	bytes_init(&b, strbuf_text(&answer), answer.size);
	while (!ret && bytes_left(&b))
		vec_push(&known, bytes_u64(&b));
	if (b.failed)
		ret = engine_damaged(err);
	vec_sort(&known, u64_compare);
	vec_for_each(&w->windows, struct window *, window)
		window->is_known = known.count && bsearch(&window->id, known.items, known.count,
							  sizeof(*known.items), u64_compare);
	vec_release(&known);
	return ret;
}

/* Sends the rows once there are many, or at the end. */
static int send_rows(struct push *w, const char *table, bool is_end, struct error *err)
{
	size_t limit = w->origin->request_bytes ? w->origin->request_bytes : REQUEST_BYTES;
	int ret = 0;

	if (is_end || w->rows.size >= limit) {
		ret = engine_insert(w->engine, table, &w->rows, err);
		strbuf_reset(&w->rows);
	}
	return ret;
}

static int send_stacks(struct push *w, struct error *err)
{
	_cleanup_free_ bool *is_used = xcalloc(w->stacks.rows.count + 1, sizeof(*is_used));
	int ret = 0;

	vec_for_each(&w->windows, const struct window *, window) {
		for (size_t i = window->first; !window->is_known && i < window->end; i++)
			is_used[w->sums.items[i].row] = true;
	}
	strbuf_reset(&w->rows);
	for (uint32_t row = 0; row < w->stacks.rows.count && !ret; row++) {
		if (is_used[row])
			stack_rows_write(&w->stacks, row, &w->rows);
		ret = send_rows(w, "prof_stacks", false, err);
	}
	return ret ? ret : send_rows(w, "prof_stacks", true, err);
}

static int send_samples(struct push *w, struct fleet_pushed *pushed, struct error *err)
{
	int ret = 0;

	vec_for_each(&w->windows, const struct window *, window) {
		for (size_t i = window->first; !window->is_known && i < window->end && !ret; i++) {
			rows_add_u32(&w->rows, w->sums.items[i].time);
			rows_add_u64(&w->rows, window->batch);
			rows_add_text(&w->rows, w->origin->host);
			add_values(w, &w->sums.items[i], &w->rows);
			pushed->samples += w->sums.items[i].value;
			ret = send_rows(w, "prof_samples", false, err);
		}
	}
	return ret ? ret : send_rows(w, "prof_samples", true, err);
}

/* Sums over the clock's samples of a window. */
static void add_counts(struct push *w, const struct window *window)
{
	uint64_t ticks = 0, waits = 0, guessed = 0, unnamed = 0;

	for (size_t i = window->first; i < window->end; i++) {
		const struct sum *sum = &w->sums.items[i];
		const struct stack_row *stack = &w->stacks.rows.items[sum->row];

		if (sum->event)
			continue;
		*(stack->is_wait ? &waits : &ticks) += sum->value;
		guessed += !stack->is_wait && stack->is_guessed ? sum->value : 0;
		unnamed += !stack->is_wait && stack->is_unnamed ? sum->value : 0;
	}
	rows_add_u64(&w->rows, ticks);
	rows_add_u64(&w->rows, waits);
	/* Lost samples have no known time, so the first window counts them. */
	rows_add_u64(&w->rows, window == w->windows.items ? w->origin->lost : 0);
	rows_add_u64(&w->rows, guessed);
	rows_add_u64(&w->rows, unnamed);
}

static int send_windows(struct push *w, struct fleet_pushed *pushed, uint32_t now_s,
			struct error *err)
{
	size_t labels = 0;

	while (w->origin->labels[labels])
		labels++;
	vec_for_each(&w->windows, const struct window *, window) {
		uint64_t start = time_of(w, window) * NS_PER_SECOND;

		pushed->known += window->is_known;
		pushed->windows += !window->is_known;
		if (window->is_known)
			continue;
		rows_add_u32(&w->rows, time_of(w, window));
		rows_add_u64(&w->rows, window->id);
		rows_add_u64(&w->rows, window->batch);
		rows_add_u32(&w->rows, now_s);
		rows_add_text(&w->rows, w->origin->host);
		rows_add_u64(&w->rows, start);
		rows_add_u64(&w->rows, start + FLEET_WINDOW_S * NS_PER_SECOND);
		rows_add_count(&w->rows, labels);
		for (size_t i = 0; i < labels; i++)
			rows_add_text(&w->rows, w->origin->labels[i]);
		add_counts(w, window);
		rows_add_u64(&w->rows, window->end - window->first);
		rows_add_text(&w->rows, "prof " PROF_VERSION);
	}
	return send_rows(w, "prof_windows", true, err);
}

static int push(struct push *w, struct fleet_pushed *pushed, struct error *err)
{
	uint64_t now_s;
	int ret = schema_check(w->engine, err);

	if (ret)
		return ret;
	add_up(w);
	find_windows(w);
	if (!w->windows.count)
		return error_text(err, -ENODATA, "the profile has no samples");
	ret = find_known(w, err) ?: send_stacks(w, err) ?: send_samples(w, pushed, err);
	/* The engine's clock decides which of two copies of a window is later. */
	if (!ret)
		ret = engine_number(w->engine, "SELECT toUInt64(toUInt32(now())) FORMAT RowBinary",
				    false, &now_s, err);
	return ret ? ret : send_windows(w, pushed, (uint32_t)now_s, err);
}

static int rows_push(const struct engine *e, const struct profile *p,
		     const struct fleet_origin *origin, struct fleet_pushed *pushed,
		     struct error *err)
{
	struct push w = {.engine = e, .profile = p, .origin = origin};
	const struct profile_meta *meta = &p->meta;
	uint64_t lasts = meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns : 0;
	int ret;

	*pushed = (struct fleet_pushed){0};
	if (!meta->start_realtime_ns || !meta->interval_ns)
		return error_text(err, -EINVAL, "the profile has no recording time");
	if (meta->start_realtime_ns / NS_PER_SECOND + lasts / NS_PER_SECOND > UINT32_MAX)
		return error_text(err, -EINVAL, "the recording time is after 2106");
	stack_rows_init(&w.stacks, p);
	fleet_resources_init(&w.resources, p, origin->service, origin->fallback,
			     origin->max_series);
	pushed->merged = w.resources.merged;
	ret = push(&w, pushed, err);
	stack_rows_release(&w.stacks);
	fleet_resources_release(&w.resources);
	vec_release(&w.sums);
	index_release(&w.index);
	vec_release(&w.windows);
	strbuf_release(&w.rows);
	return ret;
}

int fleet_push(const struct engine *e, const struct profile *p, const struct fleet_origin *origin,
	       struct fleet_pushed *pushed, struct error *err)
{
	return engine_kind_is_collector(e->url->kind) ? collector_push(e, p, origin, pushed, err)
						      : rows_push(e, p, origin, pushed, err);
}

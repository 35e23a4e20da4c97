/* SPDX-License-Identifier: MIT */
#include "lib/path/path_walk.h"

#include <fnmatch.h>

#include "lib/model/facts/facts.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/model/tables/markers.h"
#include "lib/path/path_weights.h"

static struct profile_thread *row_of(struct profile *p, const struct timelines *t, thread_id id)
{
	uint32_t row = id < t->rows.count ? t->rows.items[id].row : NO_THREAD;

	return row < p->threads.rows.count ? &p->threads.rows.items[row] : NULL;
}

static string_id label_of(struct profile *p, const struct timelines *t,
			  const struct path_part *part)
{
	string_id label = part->kind == PATH_WAITS ? timelines_label(t, &part->reason) : NO_STRING;
	enum path_kind kind = part->kind == PATH_WAITS ? PATH_UNKNOWN : part->kind;

	return label == NO_STRING ? strings_intern(&p->strings, path_labels[kind]) : label;
}

/* Returns "make 1234"; NO_STRING if no process ended the part. */
static string_id cause_of(struct profile *p, const struct timelines *t,
			  const struct path_part *part)
{
	const struct profile_thread *waker;
	char text[64];

	if (part->is_inferred)
		return strings_intern(&p->strings, PATH_INFERRED);
	if (part->ended_by == END_INTERRUPT)
		return strings_intern(&p->strings, "interrupt");
	waker = part->ended_by == END_THREAD ? row_of(p, t, part->waker) : NULL;
	if (part->ended_by == END_NOT_RECORDED || (part->ended_by == END_THREAD && !waker))
		return strings_intern(&p->strings, "not recorded");
	if (!waker)
		return NO_STRING;
	snprintf(text, sizeof(text), "%.40s %" PRIu32, strings_get(&p->strings, waker->name),
		 waker->tid);
	return strings_intern(&p->strings, text);
}

static void add_part(struct profile *p, const struct timelines *t, const struct path_part *part)
{
	schema_id schema = schema_text_intern(marker_schema(MARKER_CRITICAL_PATH),
					      &p->markers.schemas, &p->strings);
	string_id label = label_of(p, t, part), cause = cause_of(p, t, part);
	struct profile_thread *row = row_of(p, t, part->thread);
	struct marker marker;

	if (schema == NO_SCHEMA || !row)
		return;
	marker = markers_make(&p->markers, schema, part->start, part->end);
	*marker_value(&p->markers, &marker, CRITICAL_PATH_DOES) = marker_string(label);
	if (cause != NO_STRING)
		*marker_value(&p->markers, &marker, CRITICAL_PATH_CAUSE) = marker_string(cause);
	*marker_value(&p->markers, &marker, CRITICAL_PATH_TIME) =
		(struct marker_value){.type = FIELD_DURATION, .number = part->time};
	vec_push(&row->markers, marker);
}

/* Adds a marker for the waits dropped for lack of memory. */
static void add_left_out(struct profile *p, const struct timelines *t, const struct path *path)
{
	schema_id schema = schema_text_intern(marker_schema(MARKER_PATH_SUM), &p->markers.schemas,
					      &p->strings);
	struct profile_thread *row = row_of(p, t, t->root);
	struct marker marker;

	if (schema == NO_SCHEMA || !row)
		return;
	marker = markers_make(&p->markers, schema, path->begin, path->end);
	*marker_value(&p->markers, &marker, PATH_SUM_NAME) =
		marker_string(strings_intern(&p->strings, path_sum_names[PATH_SUM_LEFT_OUT]));
	*marker_value(&p->markers, &marker, PATH_SUM_TIME) =
		(struct marker_value){.type = FIELD_DURATION, .number = t->left_out};
	vec_push(&row->markers, marker);
}

void path_markers_add(struct profile *p, const struct timelines *t, const struct path *path)
{
	if (t->left_out)
		add_left_out(p, t, path);
	vec_for_each(&path->parts, const struct path_part *, part)
		add_part(p, t, part);
}

void path_markers_name_steps(struct profile *p)
{
	_cleanup_free_ string_id *steps = NULL;

	if (schema_text_find(MARKER_CRITICAL_PATH, &p->markers.schemas, &p->strings) == NO_SCHEMA)
		return;
	steps = path_steps(p);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		vec_for_each(&p->threads.rows.items[id].markers, const struct marker *, marker) {
			if (recorded_is(p, marker, MARKER_CRITICAL_PATH))
				*marker_value(&p->markers, marker,
					      CRITICAL_PATH_STEP) = marker_string(steps[id]);
		}
	}
}

/* Time of a thread to be explained. */
struct path_span {
	uint64_t begin, end;
	thread_id thread;
};

ORDER(compare_spans, struct path_span, COMPARE(a->thread, b->thread) ?: COMPARE(a->begin, b->begin))

struct path_spans {
	VEC(struct path_span) rows;
	bool is_found; /* a marker has the name */
};

static bool is_of_path(const struct profile *p, const struct marker *marker)
{
	return recorded_is(p, marker, MARKER_CRITICAL_PATH) ||
	       recorded_is(p, marker, MARKER_HAND_OVER) ||
	       recorded_is(p, marker, MARKER_FORECAST) || recorded_is(p, marker, MARKER_PATH_SUM);
}

static void add_span(struct path_spans *spans, const struct timelines *t, thread_id thread,
		     const struct marker *marker)
{
	struct path_span span = {.begin = marker->start, .end = marker->end, .thread = thread};

	spans->is_found = true;
	if (span.begin < t->begin)
		span.begin = t->begin;
	if (span.begin < span.end)
		vec_push(&spans->rows, span);
}

/* Collects the spans, and removes the markers of the command's path. */
static void take_spans(struct path_spans *spans, struct profile *p, const struct timelines *t,
		       const char *glob)
{
	for (thread_id id = 0; id < t->rows.count; id++) {
		struct profile_thread *row = row_of(p, t, id);
		size_t kept = 0;

		for (size_t i = 0; row && i < row->markers.count; i++) {
			const struct marker *marker = &row->markers.items[i];

			if (is_of_path(p, marker))
				continue;
			if (marker->name < p->strings.rows.count &&
			    fnmatch(glob, strings_get(&p->strings, marker->name), 0) == 0)
				add_span(spans, t, id, marker);
			row->markers.items[kept++] = *marker;
		}
		if (row)
			row->markers.count = kept;
	}
}

/* Joins spans of a thread that overlap. */
static void join_spans(struct path_spans *spans)
{
	size_t kept = 0;

	vec_sort(&spans->rows, compare_spans);
	for (size_t i = 0; i < spans->rows.count; i++) {
		const struct path_span *row = &spans->rows.items[i];
		struct path_span *last = kept ? &spans->rows.items[kept - 1] : NULL;

		if (!last || last->thread != row->thread || row->begin > last->end)
			spans->rows.items[kept++] = *row;
		else if (row->end > last->end)
			last->end = row->end;
	}
	spans->rows.count = kept;
}

int path_markers_set_spans(struct profile *p, const struct timelines *t, const char *glob,
			   struct error *err)
{
	struct path_spans spans = {0};
	int ret = 0;

	take_spans(&spans, p, t, glob);
	join_spans(&spans);
	vec_for_each(&spans.rows, const struct path_span *, span) {
		struct path path;

		path_walk_span(t, span->thread, span->begin, span->end,
			       PATH_PARTS_MAX / spans.rows.count + 1, &path);
		path_markers_add(p, t, &path);
		vec_release(&path.parts);
	}
	if (!spans.rows.count)
		ret = error_text(err, -ENOENT,
				 spans.is_found ? "--during %s: these markers have no duration"
						: "--during %s: the profile has no such marker",
				 glob);
	vec_release(&spans.rows);
	path_markers_name_steps(p);
	return ret;
}

/* Intervals between samples in which one of the waker is searched. */
#define NEAR_INTERVALS 2
/* Rows that are searched for the beginning of a wait. */
#define ROWS_MAX 16

struct hand_over {
	uint64_t time, waited; /* ns */
	thread_id waker, woken; /* in the timelines */
};

ORDER(compare_longest, struct hand_over, COMPARE(b->waited, a->waited) ?: COMPARE(a->time, b->time))

struct hand_overs {
	VEC(struct hand_over) rows;
};

/* Returns the thread's wait that was ended at that time; NULL: there is none. */
static const struct timeline_wait *wait_until(const struct timeline *line, uint64_t time)
{
	size_t at = timeline_find(line, time);
	const struct timeline_wait *wait = at < line->waits.count ? &line->waits.items[at] : NULL;

	return wait && wait->reason.state != WAIT_RUNNABLE && timeline_wake_time(wait) == time
		       ? wait
		       : NULL;
}

static void collect(struct hand_overs *all, const struct timelines *t, const struct path *path)
{
	for (size_t i = 1; i < path->parts.count; i++) {
		const struct path_part *from = &path->parts.items[i - 1], *to = from + 1;
		const struct timeline_wait *wait = from->thread == to->thread
							   ? NULL
							   : wait_until(&t->rows.items[to->thread],
									to->start);

		if (wait)
			vec_push(&all->rows, (struct hand_over){
						     .time = to->start,
						     .waited = to->start - wait->start,
						     .waker = from->thread,
						     .woken = to->thread,
					     });
	}
}

static bool is_summed(const struct path *path)
{
	vec_for_each(&path->parts, const struct path_part *, part) {
		if (part->time != part->end - part->start)
			return true;
	}
	return false;
}

static thread_id hand_over_row(const struct profile *p, const struct timelines *t, thread_id id)
{
	uint32_t row = t->rows.items[id].row;

	return row < p->threads.rows.count ? row : NO_THREAD;
}

/* Returns the stack of the wait that began then. */
static stack_id wait_stack(const struct profile *p, thread_id row, uint64_t start)
{
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		samples_after(&p->threads.rows.items[row].samples, start ? start - 1 : 0);
	const struct sample *sample;

	for (int i = 0; i < ROWS_MAX && (sample = sample_iterator_next(&it)); i++) {
		if (sample->time == start && sample->stack != NO_STACK &&
		    profile_is_wait(p, sample))
			return sample->stack;
	}
	return NO_STACK;
}

/* Sets the stack of the waker's last sample before the hand-over, if that is near. */
static void set_waker(const struct profile *p, const struct hand_over *row, thread_id waker,
		      struct marker *marker, struct marker_value *stack)
{
	uint64_t near_ns = NEAR_INTERVALS * p->meta.interval_ns;
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		samples_after(&p->threads.rows.items[waker].samples,
			      row->time > near_ns ? row->time - near_ns : 0);
	const struct sample *sample;

	while ((sample = sample_iterator_next(&it)) && sample->time <= row->time) {
		if (!path_is_tick(p, sample))
			continue;
		*stack = (struct marker_value){.type = FIELD_STACK, .stack = sample->stack};
		marker->cause_time = sample->time;
		marker->cause_tid = p->threads.rows.items[waker].tid;
	}
}

/* Returns "make 1234". */
static string_id name_of(struct profile *p, const string_id *steps, thread_id row)
{
	_cleanup_free_ char *text = xasprintf("%s %" PRIu32, strings_get(&p->strings, steps[row]),
					      p->threads.rows.items[row].tid);

	return strings_intern(&p->strings, text);
}

static void add(struct profile *p, const struct timelines *t, const struct hand_over *row,
		schema_id schema, const string_id *steps)
{
	thread_id waker = hand_over_row(p, t, row->waker), woken = hand_over_row(p, t, row->woken);
	struct marker_value *values;
	struct marker marker;
	stack_id stack;

	if (waker == NO_THREAD || woken == NO_THREAD)
		return;
	marker = markers_make(&p->markers, schema, row->time, row->time);
	values = marker_value(&p->markers, &marker, 0);
	values[HAND_OVER_WAKER] = marker_string(name_of(p, steps, waker));
	values[HAND_OVER_WOKEN] = marker_string(name_of(p, steps, woken));
	values[HAND_OVER_WAITED] = (struct marker_value){.type = FIELD_DURATION,
							 .number = row->waited};
	stack = wait_stack(p, woken, row->time - row->waited);
	values[HAND_OVER_WAIT] = (struct marker_value){.type = FIELD_STACK, .stack = stack};
	set_waker(p, row, waker, &marker, &values[HAND_OVER_STACK]);
	/* The stack of the cause follows the fields. */
	values[HAND_OVER_STACK + 1] = values[HAND_OVER_STACK];
	vec_push(&p->threads.rows.items[woken].markers, marker);
}

void path_hand_overs_add(struct profile *p, const struct timelines *t)
{
	struct hand_overs all = {0};
	_cleanup_free_ string_id *steps = NULL;
	struct path path;
	schema_id schema;

	if (schema_text_find(MARKER_CRITICAL_PATH, &p->markers.schemas, &p->strings) == NO_SCHEMA)
		return;
	path_walk(t, p->meta.end_ns, PATH_PARTS_MAX, &path);
	if (!is_summed(&path))
		collect(&all, t, &path);
	vec_release(&path.parts);
	vec_sort(&all.rows, compare_longest);
	schema = schema_text_intern(marker_schema(MARKER_HAND_OVER), &p->markers.schemas,
				    &p->strings);
	steps = path_steps(p);
	for (size_t i = 0; schema != NO_SCHEMA && i < all.rows.count && i < HAND_OVERS_MAX; i++)
		add(p, t, &all.rows.items[i], schema, steps);
	vec_release(&all.rows);
}

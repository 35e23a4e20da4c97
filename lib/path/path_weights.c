/* SPDX-License-Identifier: MIT */
#include "lib/path/path_weights.h"

#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/origin.h"
#include "lib/model/meaning/titles.h"
#include "lib/model/tables/markers.h"

const char *const path_labels[PATH_KIND_COUNT] = {
	[PATH_RUNS] = "running",
	[PATH_QUEUED] = "[queued]",
	[PATH_WAKING] = "[wakes up]",
	[PATH_UNKNOWN] = "[unknown]",
};

const char *const path_sum_names[PATH_SUM_KIND_COUNT] = {
	[PATH_SUM_RUNNING] = "running",
	[PATH_SUM_REPLAY] = "replay",
	[PATH_SUM_OWN_QUEUE] = "queued behind itself",
	[PATH_SUM_ALONE] = "alone",
	[PATH_SUM_LEFT_OUT] = "left out",
};

#define NS_PER_WEIGHT 1000
#define TIME_MAX_NS (1ull << 53)
/* Limit of rows to search for the stack of a wait. */
#define ROWS_MAX 64

/* A part of the path, read from a marker. */
struct stretch {
	uint64_t start, end, ns;
	string_id label;
	uint8_t kind; /* enum path_kind */
	bool is_inferred;
};

struct stretches {
	VEC(struct stretch) rows;
};

/* Indices of marker fields; files may order them differently or have others. */
struct fields {
	schema_id schema;
	uint32_t does, cause, time, step;
};

struct weighing {
	const struct profile *p;
	struct fields fields;
	thread_id thread;
	string_id step;
	struct stretches stretches; /* by start, of one thread */
	path_weight_fn *fn;
	void *ctx;
};

static uint32_t find_field(const struct profile *p, const struct schema *schema, const char *key)
{
	string_id id = strings_find(&p->strings, key, strlen(key));

	return schema_find_field(&p->markers.schemas, schema, id);
}

static bool find_fields(const struct profile *p, struct fields *f)
{
	const struct marker_schema *text = marker_schema(MARKER_CRITICAL_PATH);
	const struct schema *schema;

	f->schema = schema_text_find(MARKER_CRITICAL_PATH, &p->markers.schemas, &p->strings);
	if (f->schema == NO_SCHEMA)
		return false;
	schema = schemas_get(&p->markers.schemas, f->schema);
	f->does = find_field(p, schema, text->fields[CRITICAL_PATH_DOES].key);
	f->cause = find_field(p, schema, text->fields[CRITICAL_PATH_CAUSE].key);
	f->time = find_field(p, schema, text->fields[CRITICAL_PATH_TIME].key);
	f->step = find_field(p, schema, text->fields[CRITICAL_PATH_STEP].key);
	return f->does < schema->field_count && f->time < schema->field_count;
}

static enum path_kind kind_of(const char *label)
{
	for (size_t i = 0; i < PATH_KIND_COUNT; i++) {
		if (path_labels[i] && strcmp(label, path_labels[i]) == 0)
			return i;
	}
	return PATH_WAITS;
}

/* Returns NULL if the value is missing or has another type. */
static const struct marker_value *value_of(const struct weighing *w, const struct marker *marker,
					   uint32_t field, enum field_type type)
{
	const struct schema *schema = schemas_get(&w->p->markers.schemas, marker->schema);
	const struct marker_value *value;

	if (field >= schema->field_count)
		return NULL;
	value = marker_value(&w->p->markers, marker, field);
	return value->type == type ? value : NULL;
}

static void add_stretch(struct weighing *w, const struct marker *marker)
{
	const struct marker_value *does = value_of(w, marker, w->fields.does, FIELD_STRING);
	const struct marker_value *cause = value_of(w, marker, w->fields.cause, FIELD_STRING);
	const struct marker_value *time = value_of(w, marker, w->fields.time, FIELD_DURATION);
	const struct marker_value *step = value_of(w, marker, w->fields.step, FIELD_STRING);
	const struct strings *strings = &w->p->strings;

	/* Reject damaged markers: longer than TIME_MAX_NS, or with more time than they span. */
	if (!does || !time || marker->end - marker->start > TIME_MAX_NS)
		return;
	if (step)
		w->step = step->string;
	vec_push(&w->stretches.rows,
		 (struct stretch){
			 .start = marker->start,
			 .end = marker->end,
			 .ns = time->number < marker->end - marker->start
				       ? time->number
				       : marker->end - marker->start,
			 .label = does->string,
			 .kind = (uint8_t)kind_of(strings_get(strings, does->string)),
			 .is_inferred = cause && strcmp(strings_get(strings, cause->string),
							PATH_INFERRED) == 0,
		 });
}

ORDER(compare, struct stretch, COMPARE(a->start, b->start))

static void collect(struct weighing *w, const struct profile_thread *thread)
{
	vec_clear(&w->stretches.rows);
	w->step = thread->name;
	vec_for_each(&thread->markers, const struct marker *, marker) {
		if (marker->schema == w->fields.schema)
			add_stretch(w, marker);
	}
	vec_sort(&w->stretches.rows, compare);
}

/* Returns the first running stretch from *at on that ends at `time` or later; NULL: none. */
static const struct stretch *running_at(const struct weighing *w, size_t *at, uint64_t time)
{
	for (; *at < w->stretches.rows.count; ++*at) {
		const struct stretch *row = &w->stretches.rows.items[*at];

		if (row->kind == PATH_RUNS && row->end >= time)
			return row;
	}
	return NULL;
}

bool path_is_tick(const struct profile *p, const struct sample *sample)
{
	return !sample->event && sample->weight && sample->stack != NO_STACK &&
	       !profile_is_wait(p, sample);
}

/*
 * Distributes `ns` over the samples in running stretches, whose weights add up to `total`; 0: only
 * adds the weights up. Returns the sum.
 */
static uint64_t spread(struct weighing *w, const struct profile_thread *thread, uint64_t ns,
		       uint64_t total)
{
	uint64_t sum = 0, given = 0;
	const struct stretch *row;
	size_t at = 0;

	samples_for_each(&thread->samples, sample) {
		struct path_weight weight = {
			.thread = w->thread,
			.kind = PATH_RUNS,
			.cpu = sample->cpu,
			.time = sample->time,
			.stack = sample->stack,
			.label = NO_STRING,
			.step = w->step,
		};

		if (!path_is_tick(w->p, sample))
			continue;
		row = running_at(w, &at, sample->time);
		if (!row)
			break;
		if (row->start > sample->time)
			continue;
		sum += sample->weight;
		if (!total)
			continue;
		weight.is_inferred = row->is_inferred;
		weight.ns = (uint64_t)((double)ns * (double)sum / (double)total) - given;
		if (sum == total)
			weight.ns = ns - given;
		given += weight.ns;
		w->fn(w->ctx, &weight);
	}
	return sum;
}

static void weigh_running(struct weighing *w, const struct profile_thread *thread)
{
	struct path_weight weight = {
		.thread = w->thread,
		.kind = PATH_RUNS,
		.cpu = NO_CPU,
		.stack = NO_STACK,
		.label = NO_STRING,
		.step = w->step,
	};
	uint64_t total;

	vec_for_each(&w->stretches.rows, const struct stretch *, row) {
		if (row->kind != PATH_RUNS)
			continue;
		if (!weight.ns)
			weight.time = row->start;
		weight.ns += row->ns;
	}
	if (!weight.ns)
		return;
	total = spread(w, thread, 0, 0);
	if (total)
		spread(w, thread, weight.ns, total);
	else
		w->fn(w->ctx, &weight);
}

static string_id label_of(const struct profile *p, stack_id stack)
{
	func_id func = profile_frame_of(p, stack)->func;

	return func == NO_FUNC ? NO_STRING : p->funcs.rows.items[func].name;
}

/* Finds the stack of the wait among the thread's rows. */
static stack_id find_stack(const struct profile *p, const struct profile_thread *thread,
			   const struct stretch *row)
{
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		samples_after(&thread->samples, row->start ? row->start - 1 : 0);
	const struct sample *sample;

	for (int i = 0; i < ROWS_MAX && (sample = sample_iterator_next(&it)); i++) {
		if (sample->time > row->end)
			break;
		if (sample->weight && profile_is_wait(p, sample) &&
		    label_of(p, sample->stack) == row->label)
			return sample->stack;
	}
	return NO_STACK;
}

static void weigh_rest(struct weighing *w, const struct profile_thread *thread)
{
	vec_for_each(&w->stretches.rows, const struct stretch *, row) {
		struct path_weight weight = {
			.thread = w->thread,
			.kind = row->kind,
			.cpu = NO_CPU,
			.time = row->start,
			.ns = row->ns,
			.stack = NO_STACK,
			.label = row->label,
			.step = w->step,
		};

		if (row->kind == PATH_RUNS)
			continue;
		if (row->kind == PATH_WAITS)
			weight.stack = find_stack(w->p, thread, row);
		w->fn(w->ctx, &weight);
	}
}

string_id path_function(const struct profile *p, const uint8_t *origins, stack_id stack)
{
	string_id name = NO_STRING;

	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		frame_id frame = p->stacks.rows.items[stack].frame;
		func_id func = p->frames.rows.items[frame].func;

		if (func == NO_FUNC)
			continue;
		if (origins[frame] == ORIGIN_OWN)
			return p->funcs.rows.items[func].name;
		if (name == NO_STRING)
			name = p->funcs.rows.items[func].name;
	}
	return name;
}

static bool is_of_c_library(const struct profile *p, const struct func *func)
{
	return func->module != NO_MODULE &&
	       module_name_is_c_library(
		       strings_get(&p->strings, p->modules.rows.items[func->module].name));
}

string_id path_user_function(const struct profile *p, const uint8_t *origins, stack_id stack)
{
	string_id name = NO_STRING;

	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		frame_id id = p->stacks.rows.items[stack].frame;
		const struct frame *frame = &p->frames.rows.items[id];
		const struct func *func;

		if (frame->kind == PROFILE_FRAME_LABEL || frame->kind == PROFILE_FRAME_KERNEL ||
		    !profile_frame_is_named(p, frame))
			continue;
		func = &p->funcs.rows.items[frame->func];
		if (origins[id] == ORIGIN_OWN)
			return func->name;
		if (name == NO_STRING && !is_of_c_library(p, func))
			name = func->name;
	}
	return name;
}

bool path_is_entry(const char *name)
{
	static const char *const entries[] = {"main",	   "_start",	   "<module>",	 "(root)",
					      "main.main", "runtime.main", "(anonymous)"};

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		if (strcmp(name, entries[i]) == 0)
			return true;
	}
	/* Calls the code that a Rust thread runs. */
	return strstr(name, "__rust_begin_short_backtrace");
}

string_id path_caller(const struct profile *p, const uint8_t *origins, stack_id *stack,
		      string_id function)
{
	while (*stack != NO_STACK) {
		frame_id frame = p->stacks.rows.items[*stack].frame;
		func_id func = p->frames.rows.items[frame].func;
		string_id name = func == NO_FUNC ? NO_STRING : p->funcs.rows.items[func].name;

		*stack = p->stacks.rows.items[*stack].parent;
		if (name == NO_STRING || name == function || origins[frame] != ORIGIN_OWN ||
		    profile_is_fde_frame(p, &p->frames.rows.items[frame]))
			continue;
		return path_is_entry(strings_get(&p->strings, name)) ? NO_STRING : name;
	}
	return NO_STRING;
}

/* Texts are copied, since the titles' strings and the profile's are the same. */
string_id *path_steps(struct profile *p)
{
	struct thread_titles titles;
	size_t count = p->threads.rows.count;
	_cleanup_free_ char **texts = xcalloc(count + 1, sizeof(*texts));
	string_id *steps = xcalloc(count + 1, sizeof(*steps));

	thread_titles_find(&titles, p);
	for (thread_id id = 0; id < count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		steps[id] = thread->name;
		if (thread->name == thread->process_name)
			texts[id] = xstrdup(process_title(&titles, id));
	}
	thread_titles_release(&titles);
	for (thread_id id = 0; id < count; id++) {
		if (texts[id])
			steps[id] = strings_intern(&p->strings, texts[id]);
		free(texts[id]);
	}
	return steps;
}

bool path_weights_each(const struct profile *p, path_weight_fn *fn, void *ctx)
{
	struct weighing w = {.p = p, .fn = fn, .ctx = ctx};
	bool has_path = false;

	if (!find_fields(p, &w.fields))
		return false;
	for (w.thread = 0; w.thread < p->threads.rows.count; w.thread++) {
		const struct profile_thread *thread = &p->threads.rows.items[w.thread];

		collect(&w, thread);
		has_path = has_path || w.stretches.rows.count;
		weigh_running(&w, thread);
		weigh_rest(&w, thread);
	}
	vec_release(&w.stretches.rows);
	return has_path;
}

/* New rows of all threads. */
struct path_rows {
	struct profile *p;
	VEC(struct sample) rows; /* thread by thread */
	VEC(size_t) ends; /* by thread: number of rows up to and including its last one */
	uint64_t ns; /* time of all rows so far */
	uint64_t given; /* sum of their weights, in whole units */
	uint8_t event; /* for all rows */
};

ORDER(compare_samples, struct sample, COMPARE(a->time, b->time))

/* Returns a stack for a part without one. */
static stack_id label_stack(struct profile *p, const struct path_weight *weight)
{
	struct frame_category idle = {CATEGORY_IDLE, IDLE_OTHER};
	string_id label = weight->label;

	if (weight->kind == PATH_QUEUED || weight->kind == PATH_WAKING)
		idle.subcategory = IDLE_QUEUED;
	else if (weight->kind == PATH_RUNS)
		label = strings_intern(&p->strings, "[not sampled]");
	return stacks_intern(&p->stacks, NO_STACK, label_frames_intern(p, label, idle));
}

/* Carries the rounding error over, so that the sum of all weights is right. */
static uint32_t round_weight(struct path_rows *r, uint64_t ns)
{
	uint64_t weight;

	r->ns += ns;
	weight = r->ns / NS_PER_WEIGHT - r->given;
	if (weight > UINT32_MAX)
		weight = UINT32_MAX;
	r->given += weight;
	return (uint32_t)weight;
}

static void add_row(void *ctx, const struct path_weight *weight)
{
	struct path_rows *r = ctx;
	struct sample sample = {
		.time = weight->time,
		.stack = weight->stack,
		.weight = round_weight(r, weight->ns),
		.cpu = weight->cpu,
		.event = r->event,
	};

	while (r->ends.count < weight->thread)
		vec_push(&r->ends, r->rows.count);
	if (!sample.weight)
		return;
	if (weight->kind == PATH_RUNS && !r->event)
		sample.cpu_delta = weight->ns < UINT32_MAX ? (uint32_t)weight->ns : UINT32_MAX;
	/* Labels of the clock's samples are waits. */
	if (sample.stack == NO_STACK && (weight->kind != PATH_RUNS || r->event))
		sample.stack = label_stack(r->p, weight);
	vec_push(&r->rows, sample);
}

static void drop_event(struct samples *samples, uint8_t event)
{
	struct samples kept = {0};
	bool has_event = false;

	samples_for_each(samples, sample)
		has_event |= sample->event == event;
	if (!has_event)
		return;
	samples_for_each(samples, sample) {
		if (sample->event != event)
			samples_add(&kept, sample);
	}
	samples_release(samples);
	samples_merge(samples, &kept);
}

/*
 * Adds the thread's rows to its samples, after removing those if `replaces`, or else its earlier
 * rows: in files, the main thread has those of its process.
 */
static void set_rows(struct path_rows *r, thread_id id, bool replaces)
{
	size_t first = id ? r->ends.items[id - 1] : 0, count = r->ends.items[id] - first;
	struct profile_thread *thread = threads_get(&r->p->threads, id);
	struct samples added = {0};
	struct sample *rows;

	if (replaces)
		samples_release(&thread->samples);
	else
		drop_event(&thread->samples, r->event);
	if (!count)
		return;
	rows = xcalloc(count, sizeof(*rows));
	memcpy(rows, r->rows.items + first, count * sizeof(*rows));
	qsort(rows, count, sizeof(*rows), compare_samples);
	samples_take(&added, rows, count);
	samples_merge(&thread->samples, &added);
}

static uint8_t add_event(struct profile *p)
{
	uint8_t event = profile_event(p, PATH_EVENT);
	struct event_count *row = event ? event_counts_get(&p->events, event) : NULL;

	if (row) {
		row->unit = strings_intern(&p->strings, "microseconds");
		row->period = p->meta.interval_ns / NS_PER_WEIGHT;
		row->is_derived = true;
	}
	return event;
}

static bool make_rows(struct path_rows *rows, bool replaces)
{
	struct profile *p = rows->p;
	bool has_path = path_weights_each(p, add_row, rows);

	while (rows->ends.count < p->threads.rows.count)
		vec_push(&rows->ends, rows->rows.count);
	for (thread_id id = 0; has_path && id < p->threads.rows.count; id++)
		set_rows(rows, id, replaces);
	vec_release(&rows->rows);
	vec_release(&rows->ends);
	return has_path;
}

bool path_weights_apply(struct profile *p, bool as_event)
{
	struct path_rows rows = {.p = p, .event = as_event ? add_event(p) : 0};
	bool has_path = make_rows(&rows, true);

	if (has_path && !rows.event) {
		p->meta.sample_ticks = p->meta.interval_ns / NS_PER_WEIGHT;
		p->meta.interval_ns = NS_PER_WEIGHT;
	}
	return has_path;
}

void path_weights_add(struct profile *p)
{
	struct path_rows rows = {.p = p};
	struct fields fields;

	if (!find_fields(p, &fields))
		return;
	rows.event = add_event(p);
	if (rows.event)
		make_rows(&rows, false);
}

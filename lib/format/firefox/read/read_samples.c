/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/cells.h"
#include "lib/format/firefox/read/read_internal.h"
#include "lib/format/firefox/version.h"
#include "lib/model/meaning/marker_completion.h"

/* The table nativeAllocations: matches frees with their allocations. */

/* A row of the file. */
struct change {
	uint64_t time;
	int64_t weight, block, tid;
	stack_id stack;
};

struct change_list {
	VEC(struct change) rows;
	struct allocations *into;
	VEC(int64_t) blocks; /* block by row of `into` */
	struct index by_block; /* index of rows still allocated */
};

typedef bool read_value_fn(struct import *r, struct json_cursor *s, struct change *row);

static bool read_time(struct import *r, struct json_cursor *s, struct change *row)
{
	row->time = import_moment(r, import_instant(s));
	return true;
}

static bool read_allocations_read_weight(struct import *r, struct json_cursor *s,
					 struct change *row)
{
	return import_integer(s, &row->weight);
}

static bool read_block(struct import *r, struct json_cursor *s, struct change *row)
{
	return import_integer(s, &row->block);
}

static bool read_tid(struct import *r, struct json_cursor *s, struct change *row)
{
	return import_integer(s, &row->tid);
}

static bool read_allocations_read_stack(struct import *r, struct json_cursor *s, struct change *row)
{
	int64_t stack;

	if (json_cursor_null(s))
		return true;
	if (!import_integer(s, &stack) || stack < 0 || (uint64_t)stack >= r->stack_count)
		return false;
	row->stack = r->stack_ids[stack];
	return true;
}

static void read_column(struct import *r, struct json_cursor *s, read_value_fn *read,
			struct change_list *list)
{
	bool is_first = !list->rows.count;
	size_t row = 0;

	json_for_each_element(s, i) {
		if (is_first)
			vec_push(&list->rows,
				 (struct change){.time = CLOCK_NO_TIME, .stack = NO_STACK});
		if (row == list->rows.count)
			s->failed = true;
		else if (!read(r, s, &list->rows.items[row++]))
			r->counts->unread[UNREAD_ALLOCATIONS]++;
	}
	s->failed |= row != list->rows.count;
}

static void read_allocations_read_member(struct import *r, struct json_cursor *s, struct span key,
					 struct change_list *list)
{
	static const struct {
		const char *name;
		read_value_fn *read;
	} columns[] = {{"time", read_time},
		       {"weight", read_allocations_read_weight},
		       {"stack", read_allocations_read_stack},
		       {"memoryAddress", read_block},
		       {"threadId", read_tid}};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (span_is(s, key, columns[i].name) && json_cursor_peek(s) == '[') {
			read_column(r, s, columns[i].read, list);
			return;
		}
	}
}

INDEX_EQUAL(block_equal, struct change_list, blocks, *a == *b)

static void add_allocation(struct change_list *list, const struct change *row)
{
	vec_push(&list->into->rows, (struct allocation){
					    .time = row->time,
					    .bytes = (uint64_t)row->weight,
					    .stack = row->stack,
					    .tid = (uint32_t)row->tid,
				    });
	vec_push(&list->blocks, row->block);
	index_add(&list->by_block, hash_u64((uint64_t)row->block),
		  (uint32_t)(list->into->rows.count - 1));
}

/* Returns the first known time. */
static uint64_t read_allocations_first_time(const struct import *r, const struct change_list *list)
{
	const struct change *row = vec_find(&list->rows, it, it->time != CLOCK_NO_TIME);

	return row ? row->time : r->profile->meta.start_ns;
}

/* Counts frees of unknown blocks as unread, and all frees in tables without blocks. */
static void join(struct import *r, struct change_list *list)
{
	uint64_t last = read_allocations_first_time(r, list);

	vec_for_each(&list->rows, struct change *, row) {
		uint64_t hash = hash_u64((uint64_t)row->block);
		uint32_t at = index_find(&list->by_block, hash, block_equal, list, &row->block);
		bool is_known = at != INDEX_NONE;

		if (row->time == CLOCK_NO_TIME)
			row->time = last;
		if (row->time < last || !row->block || (row->weight < 0 ? !is_known : is_known)) {
			r->counts->unread[UNREAD_ALLOCATIONS]++;
			continue;
		}
		last = row->time;
		if (row->weight >= 0) {
			add_allocation(list, row);
			continue;
		}
		list->into->rows.items[at].freed = row->time;
		index_remove(&list->by_block, hash, at);
	}
}

int import_allocations(struct import *r, struct json_cursor *s, struct allocations *into,
		       struct error *err)
{
	struct change_list list = {.into = into};

	vec_clear(&into->rows);
	json_for_each_member(s, key)
		read_allocations_read_member(r, s, key, &list);
	if (!s->failed)
		join(r, &list);
	vec_release(&list.rows);
	vec_release(&list.blocks);
	index_release(&list.by_block);
	return s->failed ? error_text(err, -EBADMSG, "allocations are damaged at byte %zu", s->at)
			 : 0;
}

struct counter_rows {
	VEC(struct counter_sample) rows;
};

/* A counter of the file, until its process is known. */
struct draft {
	struct counter counter;
	struct counter_rows samples;
	int64_t main_thread; /* index of the thread in the file; -1: missing */
	bool has_pid, is_drawn;
};

struct read_counters_sample_reader {
	struct import *reader;
	struct counter_rows *samples;
	struct import_clock clock;
};

enum { READ_COUNTERS_TIME, READ_COUNTERS_TIME_DELTAS, COUNT, NUMBER };

static void read_counters_add_row(void *ctx)
{
	struct read_counters_sample_reader *of = ctx;

	vec_push(&of->samples->rows, (struct counter_sample){0});
}

static void read_counters_read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct read_counters_sample_reader *of = ctx;
	struct counter_sample *sample = &of->samples->rows.items[row];
	uint64_t *unread = of->reader->counts->unread;

	switch (column) {
	case READ_COUNTERS_TIME:
		of->clock = (struct import_clock){0};
		sample->time = import_clock_add(&of->clock, s);
		break;
	case READ_COUNTERS_TIME_DELTAS:
		sample->time = import_clock_add(&of->clock, s);
		break;
	case COUNT:
		if (!import_integer(s, &sample->delta))
			unread[UNREAD_COUNTER_VALUES]++;
		break;
	default: /* The number of changes counts as unread. */
		unread[UNREAD_COUNTER_VALUES] += import_skip(s);
	}
}

static void read_counters_read_samples(struct import *r, struct json_cursor *s,
				       struct counter_rows *samples)
{
	static const char *const columns[] = {"time", "timeDeltas", "count", "number", NULL};
	struct read_counters_sample_reader of = {.reader = r, .samples = samples};
	const struct grid_reader reader = {columns, read_counters_add_row, read_counters_read_value,
					   NULL, &of};
	struct grid grid;

	vec_clear(&samples->rows);
	if (json_cursor_peek(s) != '{')
		return;
	grid_read(&grid, s, &reader);
	s->failed |= grid.is_ragged;
}

static void read_group(struct import *r, struct json_cursor *s, struct counter_rows *samples)
{
	json_for_each_member_if_any(s, key) {
		if (span_is(s, key, "samples"))
			read_counters_read_samples(r, s, samples);
	}
}

/* Older files have groups of samples, of which only the first is used. */
static void read_groups(struct import *r, struct json_cursor *s, struct counter_rows *samples)
{
	bool is_read = false;

	if (json_cursor_peek(s) != '[') {
		read_group(r, s, samples);
		return;
	}
	json_for_each_element(s, i) {
		if (is_read || json_cursor_peek(s) != '{')
			continue;
		is_read = true;
		read_group(r, s, samples);
	}
}

/* Reads the counter's graph. The writer chooses tooltips, order and marker tracks. */
static void read_display(struct import *r, struct json_cursor *s, struct draft *draft)
{
	struct counter *counter = &draft->counter;

	if (json_cursor_peek(s) != '{')
		return;
	draft->is_drawn = true;
	json_for_each_member(s, key) {
		if (span_is(s, key, "graphType")) {
			_cleanup_free_ char *type = json_cursor_text(s);

			counter->graph = strcmp(type, "line-rate") == 0 ? COUNTER_RATE
									: COUNTER_LEVEL;
		} else if (span_is(s, key, "unit")) {
			counter->unit = import_string(r, s);
		} else if (span_is(s, key, "color")) {
			counter->color = import_string(r, s);
		} else if (span_is(s, key, "label")) {
			counter->label = import_string(r, s);
		}
	}
}

/* Chooses the graph by category, as older front-ends did. */
static void draw(struct import *r, struct counter *counter)
{
	static const struct {
		const char *category, *unit;
		uint8_t graph;
	} known[] = {
		{"Memory", "bytes", COUNTER_LEVEL},
		{"power", "pWh", COUNTER_RATE},
		{"Bandwidth", "bytes", COUNTER_RATE},
		{"CPU", "percent", COUNTER_RATE},
	};
	struct strings *strings = &r->profile->strings;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(strings_get(strings, counter->category), known[i].category) != 0)
			continue;
		counter->unit = strings_intern(strings, known[i].unit);
		counter->graph = known[i].graph;
	}
}

static void read_counters_read_member(struct import *r, struct json_cursor *s, struct span key,
				      struct draft *draft)
{
	struct counter *counter = &draft->counter;

	if (span_is(s, key, "name")) {
		counter->name = import_string(r, s);
	} else if (span_is(s, key, "category")) {
		counter->category = import_string(r, s);
	} else if (span_is(s, key, "description")) {
		counter->description = import_string(r, s);
	} else if (span_is(s, key, "pid")) {
		counter->pid = import_id(r, s, &counter->incarnation);
		draft->has_pid = true;
	} else if (span_is(s, key, "samples")) {
		read_counters_read_samples(r, s, &draft->samples);
	} else if (span_is(s, key, "sampleGroups") || span_is(s, key, "sample_groups")) {
		read_groups(r, s, &draft->samples);
	} else if (span_is(s, key, "display")) {
		read_display(r, s, draft);
	} else if (span_is(s, key, "mainThreadIndex") && r->read_own_tables) {
		import_integer(s, &draft->main_thread);
	} else if (!span_is(s, key, "mainThreadIndex")) { /* Redundant with the pid. */
		r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
}

/* Older files may have different pids in counters and threads. */
static void find_process(const struct import *r, struct draft *draft)
{
	const struct threads *threads = &r->profile->threads;

	if (draft->main_thread < 0 || (size_t)draft->main_thread >= threads->rows.count)
		return;
	draft->counter.pid = threads->rows.items[draft->main_thread].pid;
	draft->counter.incarnation = threads->rows.items[draft->main_thread].incarnation;
	draft->has_pid = true;
}

/* Checks that times ascend. */
static void add_counter(struct import *r, struct draft *draft)
{
	uint64_t before = 0;
	struct counter *counter = &draft->counter;

	if (r->is_gecko && !draft->samples.rows.count)
		return;
	find_process(r, draft);
	if (!draft->has_pid ||
	    !vec_find(&r->profile->threads.rows, thread,
		      thread->is_main && thread->pid == counter->pid &&
			      thread->incarnation == counter->incarnation) ||
	    r->profile->counters.rows.count == COUNTERS_MAX) {
		r->counts->unread[UNREAD_COUNTERS]++;
		return;
	}
	if (!draft->is_drawn)
		draw(r, counter);
	vec_for_each(&draft->samples.rows, const struct counter_sample *, sample) {
		if (sample->time != CLOCK_NO_TIME && sample->time > before)
			before = sample->time;
		counter_add_sample(counter, import_moment(r, before), sample->delta);
	}
	profile_counters_add(&r->profile->counters, counter);
}

static void read_counter(struct import *r, struct json_cursor *s)
{
	struct draft draft = {.counter = {.name = NO_STRING,
					  .category = NO_STRING,
					  .description = NO_STRING,
					  .label = NO_STRING,
					  .unit = NO_STRING,
					  .color = NO_STRING,
					  .pid = r->process_pid},
			      .main_thread = -1,
			      .has_pid = r->is_gecko};

	json_for_each_member(s, key)
		read_counters_read_member(r, s, key, &draft);
	if (!s->failed)
		add_counter(r, &draft);
	vec_release(&draft.samples.rows);
}

int import_counters(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.counters);
	size_t row = 0;

	json_for_each_element_if_any(&s, i) {
		read_counter(r, &s);
		row += !s.failed;
	}
	return s.failed ? error_text(err, -EBADMSG, "counters[%zu] is damaged", row) : 0;
}

/*
 * Samples, read from the columns straight into rows: the first column makes the rows, the others
 * fill them in.
 */

struct sample_reader {
	struct import *reader;
	struct sample_list *samples;
	VEC(struct decimal) weights; /* by row; empty if the file has no weights */
	bool are_times; /* the weights are times */
	struct import_clock clock; /* time so far, the sum of timeDeltas */
};

enum { STACK, TIME, TIME_DELTAS, WEIGHT, CPU_DELTA };

static const char *const columns[] = {"stack",	"time",		  "timeDeltas",
				      "weight", "threadCPUDelta", NULL};

static void add_row(void *ctx)
{
	struct sample_reader *of = ctx;

	vec_push(&of->samples->rows, (struct sample){.stack = NO_STACK, .cpu = NO_CPU});
}

static stack_id read_stack(const struct import *r, struct json_cursor *s)
{
	int64_t stack;

	if (json_cursor_null(s))
		return NO_STACK;
	if (json_cursor_i64(s, &stack) && (stack < 0 || (uint64_t)stack >= r->stack_count))
		s->failed = true;
	if (s->failed)
		return NO_STACK;
	return r->stack_ids[stack];
}

static uint32_t saturate(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static struct decimal read_weight(struct json_cursor *s)
{
	struct decimal weight = {.millionths = 1000000};

	if (!json_cursor_null(s))
		json_cursor_decimal(s, &weight);
	return weight;
}

/*
 * Sets the weights once their type is known. Times become multiples of the interval, those of
 * events of EVENT_TIME_NS: the rounding error of a row is carried to the next one.
 */
static void set_weights(struct sample_reader *of)
{
	uint64_t interval = of->reader->is_event ? EVENT_TIME_NS
						 : of->reader->profile->meta.interval_ns;
	int64_t rest = 0, unit = 1000000, value;

	if (of->are_times && interval && interval < INT64_MAX / 4)
		unit = (int64_t)interval;
	for (size_t i = 0; i < of->weights.count && i < of->samples->rows.count; i++) {
		const struct decimal *weight = &of->weights.items[i];

		if (weight->millionths < 0 || weight->millionths % unit || weight->thousandths)
			of->reader->counts->unread[UNREAD_WEIGHTS]++;
		value = weight->millionths > 0 ? weight->millionths + rest : 0;
		if (value > 0)
			of->samples->rows.items[i].weight =
				saturate(((uint64_t)value + (uint64_t)unit / 2) / (uint64_t)unit);
		if (of->are_times && weight->millionths > 0)
			rest = value - (int64_t)of->samples->rows.items[i].weight * unit;
	}
}

static uint32_t read_cpu_time(const struct import *r, struct json_cursor *s)
{
	struct decimal time = {0};

	if (!json_cursor_null(s))
		json_cursor_decimal(s, &time);
	if (time.millionths <= 0)
		return 0;
	return saturate((uint64_t)time.millionths / 1000 * r->cpu_time_unit / 1000);
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct sample_reader *of = ctx;
	struct sample *sample = &of->samples->rows.items[row];

	switch (column) {
	case STACK:
		sample->stack = read_stack(of->reader, s);
		break;
	case TIME:
		of->clock = (struct import_clock){0};
		sample->time = import_clock_add(&of->clock, s);
		break;
	case TIME_DELTAS:
		sample->time = import_clock_add(&of->clock, s);
		break;
	case WEIGHT:
		vec_push(&of->weights, read_weight(s));
		break;
	case CPU_DELTA:
		sample->cpu_delta = read_cpu_time(of->reader, s);
		break;
	}
}

static void read_weight_type(struct sample_reader *of, struct json_cursor *s)
{
	_cleanup_free_ char *type = json_cursor_text(s);

	of->are_times = strcmp(type, WEIGHTS_ARE_TIMES) == 0;
	if (*type && !of->are_times && strcmp(type, WEIGHTS_ARE_COUNTS) != 0 &&
	    !(of->reader->is_event && strcmp(type, WEIGHTS_ARE_BYTES) == 0))
		of->reader->counts->unread[UNREAD_WEIGHTS]++;
}

/* Counts other columns as unread. */
static void skip_column(void *ctx, struct json_cursor *s, struct span key)
{
	struct sample_reader *of = ctx;
	uint64_t *unread = of->reader->counts->unread;

	if (span_is(s, key, "weightType")) {
		read_weight_type(of, s);
	} else if (span_is(s, key, "length") ||
		   (span_is(s, key, "eventDelay") && long_tasks_are_in(of->reader->profile))) {
		/* Redundant with markers. */
		return;
	} else if (json_cursor_peek(s) == '[') {
		json_for_each_element(s, i)
			unread[UNREAD_SAMPLE_VALUES] += import_skip(s);
	} else {
		unread[UNREAD_SAMPLE_VALUES] += import_skip(s);
	}
}

/* Returns the first known time. */
static uint64_t first_time(const struct sample_list *samples)
{
	const struct sample *sample = vec_find(&samples->rows, it, it->time != CLOCK_NO_TIME);

	return sample ? sample->time : CLOCK_NO_TIME;
}

/*
 * Drops rows without weight or meaning; the next row gets their CPU time. Keeps the first and the
 * last row, which delimit the time with known CPU time. Rows without a time get that of the
 * previous row.
 */
static void finish(struct sample_reader *of, bool has_weights)
{
	struct sample *rows = of->samples->rows.items;
	uint64_t before = first_time(of->samples), cpu_delta = 0;
	size_t kept = 0, nulls = 0;

	for (size_t i = 0; i < of->samples->rows.count; i++) {
		struct sample sample = rows[i];

		if (!has_weights)
			sample.weight = sample.stack != NO_STACK;
		cpu_delta += sample.cpu_delta;
		if (!sample.weight && i && i + 1 < of->samples->rows.count)
			continue;
		if (!sample.weight)
			sample.stack = NO_STACK;
		if (sample.time < before || sample.time == CLOCK_NO_TIME)
			sample.time = before;
		before = sample.time;
		sample.cpu_delta = saturate(cpu_delta);
		cpu_delta = 0;
		sample.time = import_moment(of->reader, sample.time);
		nulls += !sample.weight;
		rows[kept++] = sample;
	}
	of->reader->counts->gap_rows += of->samples->rows.count - kept + nulls;
	of->samples->rows.count = kept;
}

static int read_samples(struct sample_reader *of, struct json_cursor *s, struct error *err)
{
	const struct grid_reader reader = {columns, add_row, read_value, skip_column, of};
	struct grid grid;

	vec_clear(&of->samples->rows);
	grid_read(&grid, s, &reader);
	if (s->failed)
		return error_text(err, -EBADMSG, "samples are damaged at byte %zu", s->at);
	if (grid.is_ragged)
		return error_text(err, -EBADMSG, "columns of samples differ in length");
	if (!(grid.columns & 1u << STACK) || !(grid.columns & (1u << TIME | 1u << TIME_DELTAS)))
		return error_text(err, -EBADMSG, "samples have no stacks or no times");
	if (grid.columns & 1u << CPU_DELTA && !of->reader->cpu_time_unit)
		of->reader->counts->unread[UNREAD_CPU_TIMES] += of->samples->rows.count;
	set_weights(of);
	finish(of, of->weights.count == grid.row_count && grid.row_count);
	return 0;
}

int import_samples(struct import *r, struct json_cursor *s, struct sample_list *samples,
		   struct error *err)
{
	struct sample_reader of = {.reader = r, .samples = samples};
	int ret = read_samples(&of, s, err);

	vec_release(&of.weights);
	return ret;
}

/* SPDX-License-Identifier: MIT */
/*
 * Samples, read from the columns straight into rows: the first column makes the rows, the others
 * fill them in.
 */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/format/firefox/read/grid.h"
#include "lib/format/firefox/read/internal.h"
#include "lib/format/firefox/version.h"
#include "lib/model/meaning/long_tasks.h"

struct sample_reader {
	struct import *reader;
	struct sample_list *samples;
	VEC(struct decimal) weights; /* by row; none if the file has none */
	bool are_times; /* the weights */
	struct import_clock clock; /* time so far, from timeDeltas */
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
	return r->stack_ids ? r->stack_ids[stack] : (stack_id)stack;
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
 * Sets the weights once their type is known. Times become multiples of the interval: what rounding
 * takes from a row, the next one gets.
 */
static void set_weights(struct sample_reader *of)
{
	uint64_t interval = of->reader->profile->meta.interval_ns;
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
	default:
		json_cursor_skip(s);
	}
}

static void read_weight_type(struct sample_reader *of, struct json_cursor *s)
{
	_cleanup_free_ char *type = json_cursor_text(s);

	of->are_times = strcmp(type, WEIGHTS_ARE_TIMES) == 0;
	if (*type && !of->are_times && strcmp(type, WEIGHTS_ARE_COUNTS) != 0)
		of->reader->counts->unread[UNREAD_WEIGHTS]++;
}

/* Counts other columns as unread. */
static void skip_column(void *ctx, struct json_cursor *s, struct span key)
{
	struct sample_reader *of = ctx;
	struct json_cursor_list list = {0};
	uint64_t *unread = of->reader->counts->unread;

	if (span_is(s, key, "weightType")) {
		read_weight_type(of, s);
	} else if (span_is(s, key, "length") ||
		   (span_is(s, key, "eventDelay") && long_tasks_are_in(of->reader->profile))) {
		/* Markers tell the same. */
		json_cursor_skip(s);
	} else if (json_cursor_peek(s) == '[') {
		while (json_cursor_element(s, &list))
			unread[UNREAD_SAMPLE_VALUES] += import_skip(s);
	} else {
		unread[UNREAD_SAMPLE_VALUES] += import_skip(s);
	}
}

/* Returns the first time that is known. */
static uint64_t first_time(const struct sample_list *samples)
{
	vec_for_each(&samples->rows, const struct sample *, sample) {
		if (sample->time != CLOCK_NO_TIME)
			return sample->time;
	}
	return CLOCK_NO_TIME;
}

/*
 * Drops rows that stand for nothing; the next row gets their CPU time. The first row and the last
 * one stay: they say from when to when the CPU time is known. Rows without a time have that of the
 * row before.
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
		return error_text(err, -EBADMSG, "samples are damaged, at byte %zu", s->at);
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

/* SPDX-License-Identifier: MIT */
/*
 * Samples, read from the columns straight into rows: the first column makes the rows, the others
 * fill them in.
 */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/read/internal.h"
#include "lib/format/firefox/version.h"
#include "lib/profile/long_tasks.h"

struct sample_reader {
	struct import *reader;
	struct json_cursor *s;
	struct sample_list *samples;
	VEC(struct decimal) weights; /* by row; none if the file has none */
	bool are_times; /* the weights */
	struct import_clock clock; /* time so far, from timeDeltas */
	bool has_stacks, has_times, has_weights, has_cpu_times;
};

typedef void read_value_fn(struct sample_reader *of, struct sample *sample);

static void read_stack(struct sample_reader *of, struct sample *sample)
{
	int64_t stack;

	if (json_cursor_null(of->s)) {
		sample->stack = NO_STACK;
		return;
	}
	if (json_cursor_i64(of->s, &stack) &&
	    (stack < 0 || (uint64_t)stack >= of->reader->layout.stacks.length))
		of->s->failed = true;
	sample->stack = (stack_id)stack;
}

static void read_time(struct sample_reader *of, struct sample *sample)
{
	struct import_clock clock = {0};

	sample->time = import_clock_add(&clock, of->s);
}

static void read_time_delta(struct sample_reader *of, struct sample *sample)
{
	sample->time = import_clock_add(&of->clock, of->s);
}

static uint32_t saturate(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static void read_weight(struct sample_reader *of, struct sample *sample)
{
	struct decimal weight = {.millionths = 1000000};

	(void)sample;
	if (!json_cursor_null(of->s))
		json_cursor_decimal(of->s, &weight);
	vec_push(&of->weights, weight);
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
	for (size_t i = 0; i < of->weights.count; i++) {
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

static void read_cpu_time(struct sample_reader *of, struct sample *sample)
{
	struct decimal time = {0};

	if (json_cursor_null(of->s))
		return;
	json_cursor_decimal(of->s, &time);
	if (time.millionths > 0)
		sample->cpu_delta = saturate((uint64_t)time.millionths / 1000 *
					     of->reader->cpu_time_unit / 1000);
}

static int read_column(struct sample_reader *of, read_value_fn *read, bool *is_known,
		       struct error *err)
{
	struct sample_list *samples = of->samples;
	bool is_first = !of->has_stacks && !of->has_times && !of->has_weights && !of->has_cpu_times;
	struct json_cursor_list list = {0};
	size_t row = 0;

	while (json_cursor_element(of->s, &list)) {
		if (row == samples->rows.count) {
			if (!is_first)
				break;
			vec_push(&samples->rows, (struct sample){.cpu = NO_CPU});
		}
		read(of, &samples->rows.items[row++]);
	}
	if (of->s->failed)
		return error_text(err, -EBADMSG, "samples are damaged, at byte %zu", of->s->at);
	if (row != samples->rows.count || of->s->text[of->s->at - 1] != ']')
		return error_text(err, -EBADMSG, "columns of samples differ in length");
	*is_known = true;
	return 0;
}

static void read_weight_type(struct sample_reader *of)
{
	_cleanup_free_ char *type = json_cursor_text(of->s);

	of->are_times = strcmp(type, WEIGHTS_ARE_TIMES) == 0;
	if (*type && !of->are_times && strcmp(type, WEIGHTS_ARE_COUNTS) != 0)
		of->reader->counts->unread[UNREAD_WEIGHTS]++;
}

/* Counts other columns as unread. */
static void skip_column(struct sample_reader *of, struct span key)
{
	struct json_cursor_list list = {0};
	uint64_t *unread = of->reader->counts->unread;

	if (span_is(of->s, key, "weightType")) {
		read_weight_type(of);
	} else if (span_is(of->s, key, "eventDelay") && long_tasks_are_in(of->reader->profile)) {
		/* Markers tell the same. */
		json_cursor_skip(of->s);
	} else if (json_cursor_peek(of->s) == '[') {
		while (json_cursor_element(of->s, &list))
			unread[UNREAD_SAMPLE_VALUES] += import_skip(of->s);
	} else {
		json_cursor_skip(of->s);
	}
}

static int read_member(struct sample_reader *of, struct span key, struct error *err)
{
	const struct {
		const char *name;
		read_value_fn *read;
		bool *is_known;
	} columns[] = {
		{"stack", read_stack, &of->has_stacks},
		{"time", read_time, &of->has_times},
		{"timeDeltas", read_time_delta, &of->has_times},
		{"weight", read_weight, &of->has_weights},
		{"threadCPUDelta", read_cpu_time, &of->has_cpu_times},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (!span_is(of->s, key, columns[i].name) || *columns[i].is_known ||
		    json_cursor_peek(of->s) != '[')
			continue;
		return read_column(of, columns[i].read, columns[i].is_known, err);
	}
	skip_column(of, key);
	return 0;
}

/*
 * Drops rows that stand for nothing; the next row gets their CPU time. The first row and the last
 * one stay: they say from when to when the CPU time is known.
 */
static void finish(struct sample_reader *of)
{
	struct sample *rows = of->samples->rows.items;
	uint64_t before = 0, cpu_delta = 0;
	size_t kept = 0, nulls = 0;

	for (size_t i = 0; i < of->samples->rows.count; i++) {
		struct sample sample = rows[i];

		if (!of->has_weights)
			sample.weight = sample.stack != NO_STACK;
		cpu_delta += sample.cpu_delta;
		if (!sample.weight && i && i + 1 < of->samples->rows.count)
			continue;
		if (!sample.weight)
			sample.stack = NO_STACK;
		if (sample.time < before)
			sample.time = before;
		before = sample.time;
		sample.cpu_delta = saturate(cpu_delta);
		cpu_delta = 0;
		sample.time += of->reader->profile->meta.start_ns;
		nulls += !sample.weight;
		rows[kept++] = sample;
	}
	of->reader->counts->gap_rows += of->samples->rows.count - kept + nulls;
	of->samples->rows.count = kept;
}

static int read_samples(struct sample_reader *of, struct error *err)
{
	struct json_cursor_list list = {0};
	struct span key;
	int ret = 0;

	vec_clear(&of->samples->rows);
	while (!ret && json_cursor_member(of->s, &list, &key))
		ret = read_member(of, key, err);
	if (ret)
		return ret;
	if (of->s->failed || !of->has_stacks || !of->has_times)
		return error_text(err, -EBADMSG, "samples have no stacks or no times");
	if (of->has_cpu_times && !of->reader->cpu_time_unit)
		of->reader->counts->unread[UNREAD_CPU_TIMES] += of->samples->rows.count;
	set_weights(of);
	finish(of);
	return 0;
}

int import_samples(struct import *r, struct json_cursor *s, struct sample_list *samples,
		   struct error *err)
{
	struct sample_reader of = {.reader = r, .s = s, .samples = samples};
	int ret = read_samples(&of, err);

	vec_release(&of.weights);
	return ret;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/read/internal.h"

struct counter_rows {
	VEC(struct counter_sample) rows;
};

/* A counter of the file, until its process is known. */
struct draft {
	struct counter counter;
	struct counter_rows samples;
	bool has_pid, is_drawn;
};

typedef void read_value_fn(struct import *r, struct json_cursor *s, struct import_clock *clock,
			   struct counter_sample *sample);

static void read_time(struct import *r, struct json_cursor *s, struct import_clock *clock,
		      struct counter_sample *sample)
{
	(void)r;
	*clock = (struct import_clock){0};
	sample->time = import_clock_add(clock, s);
}

static void read_time_delta(struct import *r, struct json_cursor *s, struct import_clock *clock,
			    struct counter_sample *sample)
{
	(void)r;
	sample->time = import_clock_add(clock, s);
}

static void read_count(struct import *r, struct json_cursor *s, struct import_clock *clock,
		       struct counter_sample *sample)
{
	(void)clock;
	if (!import_integer(s, &sample->delta))
		r->counts->unread[UNREAD_COUNTER_VALUES]++;
}

/* Skips the number of changes, which is counted as unread. */
static void skip_number(struct import *r, struct json_cursor *s, struct import_clock *clock,
			struct counter_sample *sample)
{
	(void)clock;
	(void)sample;
	r->counts->unread[UNREAD_COUNTER_VALUES] += import_skip(s);
}

/* Makes the rows from whichever column comes first. */
static void read_column(struct import *r, struct json_cursor *s, read_value_fn *read,
			struct counter_rows *samples)
{
	struct json_cursor_list list = {0};
	struct import_clock clock = {0};
	bool is_first = !samples->rows.count;
	size_t row = 0;

	while (json_cursor_element(s, &list)) {
		if (row == samples->rows.count) {
			if (!is_first)
				break;
			vec_push(&samples->rows, (struct counter_sample){0});
		}
		read(r, s, &clock, &samples->rows.items[row++]);
	}
	s->failed |= row != samples->rows.count || s->text[s->at - 1] != ']';
}

static void read_samples(struct import *r, struct json_cursor *s, struct counter_rows *samples)
{
	static const struct {
		const char *name;
		read_value_fn *read;
	} columns[] = {
		{"time", read_time},
		{"timeDeltas", read_time_delta},
		{"count", read_count},
		{"number", skip_number},
	};
	struct json_cursor_list list = {0};
	struct span key;

	vec_clear(&samples->rows);
	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (json_cursor_member(s, &list, &key)) {
		read_value_fn *read = NULL;

		for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
			read = span_is(s, key, columns[i].name) ? columns[i].read : read;
		if (read && json_cursor_peek(s) == '[')
			read_column(r, s, read, samples);
		else
			json_cursor_skip(s);
	}
}

/* Reads how the counter is drawn. Tooltips, order and marker tracks are up to the writer. */
static void read_display(struct import *r, struct json_cursor *s, struct draft *draft)
{
	struct counter *counter = &draft->counter;
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	draft->is_drawn = true;
	while (json_cursor_member(s, &list, &key)) {
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
		} else {
			json_cursor_skip(s);
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

static void read_member(struct import *r, struct json_cursor *s, struct span key,
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
		read_samples(r, s, &draft->samples);
	} else if (span_is(s, key, "display")) {
		read_display(r, s, draft);
	} else if (span_is(s, key, "mainThreadIndex")) {
		json_cursor_skip(s); /* Redundant: the pid says the same. */
	} else {
		r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
}

static bool has_process(const struct profile *p, const struct counter *counter)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (thread->is_main && thread->pid == counter->pid &&
		    thread->incarnation == counter->incarnation)
			return true;
	}
	return false;
}

/* Checks that times ascend. */
static void add_counter(struct import *r, struct draft *draft)
{
	uint64_t start = r->profile->meta.start_ns, before = 0;
	struct counter *counter = &draft->counter;

	if (!draft->has_pid || !has_process(r->profile, counter) ||
	    r->profile->counters.rows.count == COUNTERS_MAX) {
		r->counts->unread[UNREAD_COUNTERS]++;
		return;
	}
	if (!draft->is_drawn)
		draw(r, counter);
	vec_for_each(&draft->samples.rows, const struct counter_sample *, sample) {
		if (sample->time > before)
			before = sample->time;
		counter_add_sample(counter, start + before, sample->delta);
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
					  .color = NO_STRING}};
	struct json_cursor_list list = {0};
	struct span key;

	while (json_cursor_member(s, &list, &key))
		read_member(r, s, key, &draft);
	if (!s->failed)
		add_counter(r, &draft);
	vec_release(&draft.samples.rows);
}

int import_counters(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.counters);
	struct json_cursor_list list = {0};
	size_t row = 0;

	if (!r->layout.counters.end || json_cursor_peek(&s) != '[')
		return 0;
	while (json_cursor_element(&s, &list)) {
		read_counter(r, &s);
		row += !s.failed;
	}
	return s.failed ? error_text(err, -EBADMSG, "counters[%zu] is damaged", row) : 0;
}

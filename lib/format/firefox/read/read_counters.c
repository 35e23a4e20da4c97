/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/format/firefox/read/grid.h"
#include "lib/format/firefox/read/internal.h"

struct counter_rows {
	VEC(struct counter_sample) rows;
};

/* A counter of the file, until its process is known. */
struct draft {
	struct counter counter;
	struct counter_rows samples;
	int64_t main_thread; /* index in the file; -1: not told */
	bool has_pid, is_drawn;
};

/* Reads the samples of a counter. */
struct sample_reader {
	struct import *reader;
	struct counter_rows *samples;
	struct import_clock clock;
};

enum { TIME, TIME_DELTAS, COUNT, NUMBER };

static void add_row(void *ctx)
{
	struct sample_reader *of = ctx;

	vec_push(&of->samples->rows, (struct counter_sample){0});
}

static void read_value(void *ctx, struct json_cursor *s, size_t column, size_t row)
{
	struct sample_reader *of = ctx;
	struct counter_sample *sample = &of->samples->rows.items[row];
	uint64_t *unread = of->reader->counts->unread;

	switch (column) {
	case TIME:
		of->clock = (struct import_clock){0};
		sample->time = import_clock_add(&of->clock, s);
		break;
	case TIME_DELTAS:
		sample->time = import_clock_add(&of->clock, s);
		break;
	case COUNT:
		if (!import_integer(s, &sample->delta))
			unread[UNREAD_COUNTER_VALUES]++;
		break;
	default: /* The number of changes is counted as unread. */
		unread[UNREAD_COUNTER_VALUES] += import_skip(s);
	}
}

static void read_samples(struct import *r, struct json_cursor *s, struct counter_rows *samples)
{
	static const char *const columns[] = {"time", "timeDeltas", "count", "number", NULL};
	struct sample_reader of = {.reader = r, .samples = samples};
	const struct grid_reader reader = {columns, add_row, read_value, NULL, &of};
	struct grid grid;

	vec_clear(&samples->rows);
	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	grid_read(&grid, s, &reader);
	s->failed |= grid.is_ragged;
}

/* Older files have groups of samples, of which the first counts. */
static void read_groups(struct import *r, struct json_cursor *s, struct counter_rows *samples)
{
	struct json_cursor_list groups = {0}, members = {0};
	bool is_list = json_cursor_peek(s) == '[', is_read = false;
	struct span key;

	if (!is_list && json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (is_list ? json_cursor_element(s, &groups) : !is_read) {
		if (is_read || json_cursor_peek(s) != '{') {
			json_cursor_skip(s);
			continue;
		}
		is_read = true;
		while (json_cursor_member(s, &members, &key)) {
			if (span_is(s, key, "samples"))
				read_samples(r, s, samples);
			else
				json_cursor_skip(s);
		}
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
	} else if (span_is(s, key, "sampleGroups") || span_is(s, key, "sample_groups")) {
		read_groups(r, s, &draft->samples);
	} else if (span_is(s, key, "display")) {
		read_display(r, s, draft);
	} else if (span_is(s, key, "mainThreadIndex") && r->read_own_tables) {
		import_integer(s, &draft->main_thread);
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

/* Older files may have other pids in counters than in threads. */
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
	if (!draft->has_pid || !has_process(r->profile, counter) ||
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

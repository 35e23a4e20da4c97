/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/write_internal.h"
#include "lib/model/meaning/row_counters.h"

/* Writes "counters": each with the row of its process, and how it is drawn. */

/* Position among the tracks of counters in front-ends. */
#define SORT_WEIGHT 50

static bool is_graph_color(const char *name)
{
	static const char *const colors[] = {
		"blue",	  "green",  "grey", "ink",  "magenta",
		"orange", "purple", "red",  "teal", "yellow",
	};

	return array_find(colors, it, strcmp(*it, name) == 0);
}

struct counter_samples {
	VEC(struct counter_sample) rows;
};

static void write_text(const struct firefox *f, struct jsonw *w, const char *key, string_id id)
{
	jsonw_member(w, key, string, string_overlay_get(&f->texts, id),
		     string_overlay_size(&f->texts, id));
}

/*
 * Adds the end of the counter: the same level, or a rate of 0, since usage after the last reading
 * is unknown. Drops to 0 at once if the last reading was long ago.
 */
static void add_end(struct counter_samples *list, bool is_level, uint64_t end)
{
	size_t count = list->rows.count;
	uint64_t last = list->rows.items[count - 1].time;
	bool is_flat = is_level || count < 2 || !list->rows.items[count - 1].delta;
	uint64_t before = is_flat ? 0 : last - list->rows.items[count - 2].time;

	if (end <= last)
		return;
	if (before && end - last > before + before / 2)
		vec_push(&list->rows, (struct counter_sample){.time = last + before});
	vec_push(&list->rows, (struct counter_sample){.time = end});
}

/*
 * Lists the samples that the front-end needs to draw the counter from beginning to end. It assumes
 * a first count of 0: a level gets a 0 first. A rate begins at the time that its source specifies.
 */
static void list_samples(struct counter_samples *list, const struct counter *counter, uint64_t end)
{
	bool is_level = counter->graph == COUNTER_LEVEL;

	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		struct counter_sample at = *sample;
		bool is_late = end && at.time > end;

		/* A reading may find a process that has just ended: its level is already 0. */
		if (is_late && is_level && list->rows.count)
			break;
		at.time = is_late ? end : at.time;
		/* Front-ends divide by the time that passed. */
		if (is_late && list->rows.count && vec_last(&list->rows).time >= end) {
			vec_last(&list->rows).delta = counter_add(vec_last(&list->rows).delta,
								  at.delta);
			continue;
		}
		if (is_level && !list->rows.count && at.delta)
			vec_push(&list->rows, (struct counter_sample){.time = at.time});
		vec_push(&list->rows, at);
	}
	add_end(list, is_level, end);
}

static void write_samples(const struct firefox *f, struct jsonw *w, const struct row_counter *row)
{
	struct counter_samples list = {0};

	list_samples(&list, &row->counter, row->end);
	jsonw_member(w, "samples", object_begin);
	FIREFOX_COLUMN(w, "time", &list.rows, struct counter_sample, sample, at,
		       jsonw_format_ms(at, firefox_time(f, sample->time)));
	FIREFOX_COLUMN(w, "count", &list.rows, struct counter_sample, sample, at,
		       jsonw_format_i64(at, sample->delta));
	jsonw_member(w, "length", u64, list.rows.count);
	jsonw_object_end(w);
	vec_release(&list.rows);
}

/*
 * A line of the tooltip. The front-end crashes on units other than bytes, bytes-per-second, percent
 * and number.
 */
struct tooltip_row {
	const char *source, *unit, *scale; /* scale NULL: no scale */
	const char *label; /* NULL: label of the counter */
	bool of_selection; /* shown only while a range is selected */
};

#define TOOLTIP_ROWS_MAX 4

/* Graph and tooltip of counters, by their graph type and unit. */
struct counter_form {
	const char *unit; /* NULL: any other unit */
	uint8_t graph;
	struct tooltip_row rows[TOOLTIP_ROWS_MAX];
};

/* In the order of their tracks. Rates are per ms unless the unit says otherwise. */
static const struct counter_form forms[] = {
	{"bytes",
	 COUNTER_LEVEL,
	 {{"accumulated", "bytes", NULL, NULL, false},
	  {"count-range", "bytes", NULL, "range in view", false}}},
	{"µs",
	 COUNTER_RATE,
	 {{"cpu-ratio", "percent", NULL, "of the highest in view", false},
	  {"count", "number", NULL, "µs since the value before", false},
	  {"committed-range-total", "number", NULL, "µs in view", false},
	  {"selection-total", "number", NULL, "µs in the selection", true}}},
	{NULL,
	 COUNTER_LEVEL,
	 {{"accumulated", "number", NULL, NULL, false},
	  {"count-range", "number", NULL, "range in view", false}}},
	{"bytes",
	 COUNTER_RATE,
	 {{"rate", "bytes-per-second", NULL, NULL, false},
	  {"committed-range-total", "bytes", NULL, "in view", false},
	  {"selection-total", "bytes", NULL, "in the selection", true}}},
	{"pWh",
	 COUNTER_RATE,
	 {{"count", "number", "power", "power", false},
	  {"committed-range-total", "number", "energy", "energy in view", false},
	  {"selection-total", "number", "energy", "energy in the selection", true},
	  {"selection-rate", "number", "power", "average power in the selection", true}}},
	{NULL,
	 COUNTER_RATE,
	 {{"count", "number", NULL, "since the value before", false},
	  {"committed-range-total", "number", NULL, "in view", false},
	  {"selection-total", "number", NULL, "in the selection", true}}},
};

static const struct counter_form *form_of(const struct firefox *f, const struct counter *counter)
{
	const char *unit = counter->unit == NO_STRING
				   ? ""
				   : string_overlay_get(&f->texts, counter->unit);
	const struct counter_form *form = forms;

	while (form->graph != counter->graph || (form->unit && strcmp(form->unit, unit) != 0))
		form++;
	return form;
}

static string_id label_of(const struct counter *counter)
{
	return counter->label != NO_STRING ? counter->label : counter->name;
}

static void write_tooltip_row(const struct firefox *f, struct jsonw *w,
			      const struct counter *counter, const struct tooltip_row *row)
{
	jsonw_object_begin(w);
	jsonw_member(w, "type", cstring, "value");
	jsonw_member(w, "source", cstring, row->source);
	jsonw_member(w, "format", object_begin);
	jsonw_member(w, "unit", cstring, row->unit);
	if (row->scale)
		jsonw_member(w, "scale", cstring, row->scale);
	jsonw_object_end(w);
	if (row->of_selection)
		jsonw_member(w, "requiresPreviewSelection", bool, true);
	if (row->label) {
		jsonw_member(w, "label", cstring, row->label);
	} else {
		write_text(f, w, "label", label_of(counter));
	}
	jsonw_object_end(w);
}

static void write_display(const struct firefox *f, struct jsonw *w, const struct counter *counter)
{
	const char *color = string_overlay_get(&f->texts, counter->color);
	const struct counter_form *form = form_of(f, counter);

	jsonw_member(w, "display", object_begin);
	jsonw_member(w, "graphType", cstring,
		     counter->graph == COUNTER_RATE ? "line-rate" : "line-accumulated");
	write_text(f, w, "unit", counter->unit);
	jsonw_member(w, "color", cstring, is_graph_color(color) ? color : "grey");
	jsonw_member(w, "markerSchemaLocation", null);
	jsonw_member(w, "sortWeight", u64, SORT_WEIGHT);
	write_text(f, w, "label", label_of(counter));
	jsonw_member(w, "tooltipRows", array_begin);
	for (size_t i = 0; i < TOOLTIP_ROWS_MAX && form->rows[i].source; i++)
		write_tooltip_row(f, w, counter, &form->rows[i]);
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void write_counter(const struct firefox *f, struct jsonw *w, const struct row_counter *from)
{
	const struct thread_row *row = &f->rows.list.items[from->row];
	char pid[FIREFOX_ID_SIZE];

	firefox_format_pid(pid, row);
	jsonw_object_begin(w);
	write_text(f, w, "name", from->counter.name);
	write_text(f, w, "category", from->counter.category);
	write_text(f, w, "description", from->counter.description);
	jsonw_member(w, "pid", cstring, pid);
	jsonw_member(w, "mainThreadIndex", u64, from->row);
	write_samples(f, w, from);
	write_display(f, w, &from->counter);
	jsonw_object_end(w);
}

void firefox_write_counters(const struct firefox *f, struct jsonw *w)
{
	struct row_counters counters = {0};

	row_counters_find(&counters, &f->rows);
	jsonw_member(w, "counters", array_begin);
	vec_for_each(&counters.list, const struct row_counter *, row)
		write_counter(f, w, row);
	jsonw_array_end(w);
	row_counters_release(&counters);
}

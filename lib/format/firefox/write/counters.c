/* SPDX-License-Identifier: MIT */
/* Writes "counters": each with the row of its process, and how it is drawn. */
#include "lib/format/firefox/write/internal.h"
#include "lib/format/firefox/write/row_counters.h"

/* Position among the tracks of counters in front-ends. */
#define SORT_WEIGHT 50

static bool is_graph_color(const char *name)
{
	static const char *const colors[] = {
		"blue",	  "green",  "grey", "ink",  "magenta",
		"orange", "purple", "red",  "teal", "yellow",
	};

	for (size_t i = 0; i < sizeof(colors) / sizeof(*colors); i++) {
		if (strcmp(colors[i], name) == 0)
			return true;
	}
	return false;
}

static void write_text(const struct firefox *f, struct jsonw *w, const char *key, string_id id)
{
	jsonw_key(w, key);
	jsonw_string(w, file_strings_get(&f->file_strings, id),
		     file_strings_size(&f->file_strings, id));
}

static void write_samples(const struct firefox *f, struct jsonw *w, const struct counter *counter)
{
	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	FIREFOX_COLUMN(w, "time", &counter->samples, struct counter_sample, sample, at,
		       jsonw_format_ms(at, firefox_time(f, sample->time)));
	FIREFOX_COLUMN(w, "count", &counter->samples, struct counter_sample, sample, at,
		       jsonw_format_i64(at, sample->delta));
	jsonw_key(w, "length");
	jsonw_u64(w, counter->samples.count);
	jsonw_object_end(w);
}

static void write_tooltip_row(const struct firefox *f, struct jsonw *w,
			      const struct counter *counter, const char *source, const char *label)
{
	jsonw_object_begin(w);
	jsonw_key(w, "type");
	jsonw_cstring(w, "value");
	jsonw_key(w, "source");
	jsonw_cstring(w, source);
	jsonw_key(w, "format");
	jsonw_object_begin(w);
	write_text(f, w, "unit", counter->unit);
	jsonw_object_end(w);
	jsonw_key(w, "label");
	jsonw_cstring(w, label);
	jsonw_object_end(w);
}

static void write_display(const struct firefox *f, struct jsonw *w, const struct counter *counter)
{
	bool is_rate = counter->graph == COUNTER_RATE;
	const char *color = file_strings_get(&f->file_strings, counter->color);

	jsonw_key(w, "display");
	jsonw_object_begin(w);
	jsonw_key(w, "graphType");
	jsonw_cstring(w, is_rate ? "line-rate" : "line-accumulated");
	write_text(f, w, "unit", counter->unit);
	jsonw_key(w, "color");
	jsonw_cstring(w, is_graph_color(color) ? color : "grey");
	jsonw_key(w, "markerSchemaLocation");
	jsonw_null(w);
	jsonw_key(w, "sortWeight");
	jsonw_u64(w, SORT_WEIGHT);
	write_text(f, w, "label", counter->label != NO_STRING ? counter->label : counter->name);
	jsonw_key(w, "tooltipRows");
	jsonw_array_begin(w);
	write_tooltip_row(f, w, counter, is_rate ? "rate" : "accumulated",
			  is_rate ? "a second" : "now");
	write_tooltip_row(f, w, counter, is_rate ? "selection-total" : "count-range",
			  is_rate ? "in the selection" : "range in the selection");
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void write_counter(const struct firefox *f, struct jsonw *w, const struct counter *counter,
			  const struct firefox_row *row)
{
	char pid[FIREFOX_ID_SIZE];

	firefox_format_pid(pid, row);
	jsonw_object_begin(w);
	write_text(f, w, "name", counter->name);
	write_text(f, w, "category", counter->category);
	write_text(f, w, "description", counter->description);
	jsonw_key(w, "pid");
	jsonw_cstring(w, pid);
	jsonw_key(w, "mainThreadIndex");
	jsonw_u64(w, (uint64_t)(row - f->rows.list.items));
	write_samples(f, w, counter);
	write_display(f, w, counter);
	jsonw_object_end(w);
}

void firefox_write_counters(const struct firefox *f, struct jsonw *w)
{
	struct row_counters counters = {0};

	row_counters_find(&counters, &f->rows);
	jsonw_key(w, "counters");
	jsonw_array_begin(w);
	vec_for_each(&counters.list, const struct row_counter *, row)
		write_counter(f, w, &row->counter, &f->rows.list.items[row->row]);
	jsonw_array_end(w);
	row_counters_release(&counters);
}

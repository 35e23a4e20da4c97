/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/firefox_write.h"

#include "lib/format/firefox/write/write_internal.h"
#include "lib/model/meaning/thread_rows.h"

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

static void write_counter_samples(const struct firefox *f, struct jsonw *w,
				  const struct row_counter *row)
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
	write_counter_samples(f, w, from);
	write_display(f, w, &from->counter);
	jsonw_object_end(w);
}

/* Writes "counters". */
static void firefox_write_counters(const struct firefox *f, struct jsonw *w)
{
	struct row_counters counters = {0};

	row_counters_find(&counters, &f->rows);
	jsonw_member(w, "counters", array_begin);
	vec_for_each(&counters.list, const struct row_counter *, row)
		write_counter(f, w, row);
	jsonw_array_end(w);
	row_counters_release(&counters);
}

/* Counts the uses of a thread id. Kernels reuse ids; the file needs unique ones. */
struct tid_use {
	uint32_t tid, count;
};

struct tid_uses {
	VEC(struct tid_use) rows;
	struct index index;
};

INDEX_HAS(tid_equal, struct tid_uses, rows, tid)

static uint32_t count_tid(struct tid_uses *uses, uint32_t tid)
{
	uint32_t id = index_find(&uses->index, hash_u64(tid), tid_equal, uses, &tid);

	if (id != INDEX_NONE)
		return ++uses->rows.items[id].count;
	index_add(&uses->index, hash_u64(tid), (uint32_t)uses->rows.count);
	vec_push(&uses->rows, (struct tid_use){.tid = tid});
	return 0;
}

/* Formats "123", and "123.1" for the next task with the number. */
static void format_id(char text[24], uint32_t id, uint32_t again)
{
	if (again)
		snprintf(text, 24, "%" PRIu32 ".%" PRIu32, id, again);
	else
		snprintf(text, 24, "%" PRIu32, id);
}

static void write_title(const struct firefox *f, struct jsonw *w, const char *key, string_id title)
{
	jsonw_key(w, key);
	jsonw_string(w, string_overlay_get(&f->texts, title),
		     string_overlay_size(&f->texts, title));
}

/* Writes start and end as times in the file; an end of 0 is left open. */
static void write_life(const struct firefox *f, struct jsonw *w, const char *start_key,
		       uint64_t start, const char *end_key, uint64_t end)
{
	jsonw_key(w, start_key);
	jsonw_ms(w, firefox_time(f, start));
	jsonw_key(w, end_key);
	if (end)
		jsonw_ms(w, firefox_time(f, MAX(end, start)));
	else
		jsonw_null(w);
}

void firefox_format_pid(char text[FIREFOX_ID_SIZE], const struct thread_row *row)
{
	if (row->kind == ROW_CPU)
		snprintf(text, FIREFOX_ID_SIZE, "cpus");
	else if (row->kind == ROW_DIFFERENCE)
		snprintf(text, FIREFOX_ID_SIZE, "difference");
	else
		format_id(text, row->pid, row->incarnation & ~MERGED_INCARNATION);
	if (row->is_merged)
		strcat(text, "+");
}

/* True for rows that need ids no process or thread can have. */
static bool is_no_thread(const struct thread_row *row)
{
	return row->kind == ROW_CPU || row->kind == ROW_DIFFERENCE;
}

static void write_ids(struct jsonw *w, const struct thread_row *row, uint32_t tid_again)
{
	char text[FIREFOX_ID_SIZE];

	firefox_format_pid(text, row);
	jsonw_key(w, "pid");
	jsonw_cstring(w, text);
	jsonw_key(w, "tid");
	if (row->kind == ROW_CPU)
		snprintf(text, sizeof(text), "cpu%" PRIu32, row->tid);
	else if (!row->is_merged && !is_no_thread(row))
		format_id(text, row->tid, tid_again);
	else if (row->event)
		snprintf(text + strlen(text), 12, "%" PRIu32, (uint32_t)row->event);
	if (is_no_thread(row) || row->is_merged || tid_again)
		jsonw_cstring(w, text);
	else
		jsonw_u64(w, row->tid);
}

/* Front-ends put processes of the type "default" first, and re-sort if there are several. */
static bool is_of_root(const struct firefox *f, const struct thread_row *row)
{
	const struct thread_row *root = f->rows.list.items;

	return !is_no_thread(row) && row->pid == root->pid && row->incarnation == root->incarnation;
}

/* Front-ends draw a comparison by samples instead of CPU time. */
static const char *process_type(const struct firefox *f, const struct thread_row *row)
{
	if (row->kind == ROW_DIFFERENCE)
		return "comparison";
	return is_of_root(f, row) ? "default" : "process";
}

/* Marks rows that are not threads, for readers. */
static void write_view(struct jsonw *w, const struct thread_row *row)
{
	static const char *const names[] = {
		[ROW_MERGED] = "folded",
		[ROW_EVENT] = "event",
		[ROW_CPU] = "cpu",
		[ROW_DIFFERENCE] = "difference",
	};

	if (row->kind == ROW_THREAD)
		return;
	jsonw_key(w, "profView");
	jsonw_cstring(w, names[row->kind]);
}

static void write_head(const struct firefox *f, struct jsonw *w, const struct thread_row *row,
		       uint32_t tid_again)
{
	write_title(f, w, "name", row->title);
	write_title(f, w, "processName", row->process_title);
	jsonw_key(w, "processType");
	jsonw_cstring(w, process_type(f, row));
	jsonw_key(w, "isMainThread");
	jsonw_bool(w, row->is_main);
	write_view(w, row);
	write_ids(w, row, tid_again);
	write_life(f, w, "registerTime", row->start, "unregisterTime", row->end);
	write_life(f, w, "processStartupTime", row->process_start, "processShutdownTime",
		   row->process_end);
	jsonw_key(w, "pausedRanges");
	jsonw_array_begin(w);
	jsonw_array_end(w);
	jsonw_key(w, "showMarkersInTimeline");
	jsonw_bool(w, true);
}

static const char *weight_type(const struct profile *p, uint8_t event)
{
	double size;
	enum measure measure = event_measure(p, event, &size);

	return measure == MEASURE_BYTES && size <= 1 ? WEIGHTS_ARE_BYTES : WEIGHTS_ARE_COUNTS;
}

/* Returns the time of a weight of 1, ns; 0: the weights are not times. */
static uint64_t weight_time(const struct firefox *f, uint8_t event)
{
	double size;

	if (!event)
		return firefox_interval(f);
	return event_measure(f->profile, event, &size) == MEASURE_TIME && size == EVENT_TIME_NS
		       ? EVENT_TIME_NS
		       : 0;
}

#define SAMPLE_COLUMN(w, key, samples, at, format) \
	FIREFOX_COLUMN_OF(w, key, samples_for_each(&(samples)->rows, sample), at, format)

/* `interval`: see weight_time(); if it is 0, the type of the weights is `type`. */
static void write_weights(struct jsonw *w, const struct firefox_samples *samples, uint64_t interval,
			  const char *type)
{
	if (interval) {
		SAMPLE_COLUMN(w, "weight", samples, at,
			      jsonw_format_ms(at, interval * sample->weight));
	} else if (samples->has_weights) {
		SAMPLE_COLUMN(w, "weight", samples, at, jsonw_format_u64(at, sample->weight));
	} else {
		jsonw_key(w, "weight");
		jsonw_null(w);
	}
	jsonw_key(w, "weightType");
	jsonw_cstring(w, interval ? WEIGHTS_ARE_TIMES : type);
}

/* Front-ends take the last of ascending delays as the length of a task. */
static void write_event_delays(struct jsonw *w, const struct firefox_samples *samples)
{
	size_t task = 0;

	if (!samples->tasks.rows.count)
		return;
	SAMPLE_COLUMN(w, "eventDelay", samples, at,
		      jsonw_format_ms(at, long_tasks_delay(&samples->tasks, sample->time, &task)));
}

static void write_samples(struct jsonw *w, const struct firefox_samples *samples, uint64_t interval,
			  const char *type)
{
	uint64_t before = 0;

	_Static_assert(NO_STACK == NO_POSITION, "one of them is null");

	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	SAMPLE_COLUMN(w, "stack", samples, at, firefox_format_position(at, sample->stack));
	SAMPLE_COLUMN(w, "timeDeltas", samples, at,
		      firefox_format_delta(at, sample->time, &before));
	write_weights(w, samples, interval, type);
	SAMPLE_COLUMN(w, "threadCPUDelta", samples, at, jsonw_format_u64(at, sample->cpu_delta));
	write_event_delays(w, samples);
	jsonw_key(w, "length");
	jsonw_u64(w, samples_count(&samples->rows));
	jsonw_object_end(w);
}

/* For readers: front-ends could only derive the time between rows. */
static void write_cpu_time(struct jsonw *w, const struct firefox_samples *samples)
{
	if (!samples->cpu_ns)
		return;
	jsonw_key(w, "profCPUTime");
	jsonw_u64(w, samples->cpu_ns);
}

/* Writes the value of "threads". Markers may add strings, so "shared" comes later. */
static void firefox_write_threads(struct firefox *f, struct jsonw *w)
{
	struct firefox_samples samples = {0};
	struct marker_list markers = {0};
	struct tid_uses uses = {0};

	jsonw_array_begin(w);
	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		if (outfile_failed(w->out))
			break;
		jsonw_object_begin(w);
		write_head(f, w, row,
			   is_no_thread(row) || row->is_merged ? 0 : count_tid(&uses, row->tid));
		if (row->kind == ROW_DIFFERENCE) {
			firefox_write_difference(f, w);
		} else {
			firefox_samples_fill(f, row, &samples);
			f->counts->gap_rows += samples.gap_rows;
			write_samples(w, &samples, weight_time(f, row->event),
				      weight_type(f->profile, row->event));
			write_cpu_time(w, &samples);
			firefox_write_allocations(f, w, row);
		}
		firefox_write_markers(f, w, row, &markers);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	firefox_samples_release(&samples);
	vec_release(&markers.own);
	vec_release(&uses.rows);
	index_release(&uses.index);
}

static void write_profile(struct firefox *f, struct jsonw *w)
{
	jsonw_object_begin(w);
	jsonw_key(w, "meta");
	firefox_write_meta(f, w);
	jsonw_key(w, "libs");
	firefox_write_libs(f, w);
	jsonw_key(w, "threads");
	firefox_write_threads(f, w);
	if (f->profile->counters.rows.count)
		firefox_write_counters(f, w);
	firefox_write_overhead(f, w);
	jsonw_key(w, "shared");
	firefox_write_shared(f, w);
	jsonw_object_end(w);
}

/* More rows cost a browser a gigabyte, and more rows of one program are unreadable. */
static const struct merge_limits merge_limits = {.rows = 500, .processes = 50};

/* Makes the rows of the file from the threads of the profile. */
static void make_rows(struct firefox *f, const struct export_options *options)
{
	struct merge_counts merged = {0};

	thread_rows_init(&f->rows, f->profile, &f->texts);
	if (!options->all_threads)
		merged = thread_rows_merge(&f->rows, &merge_limits);
	thread_rows_title(&f->rows);
	thread_rows_add_events(&f->rows);
	*f->counts = (struct export_counts){
		.folded_threads = merged.threads,
		.folded_rows = merged.rows,
	};
	/* Every process has exactly one main thread. */
	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		f->counts->processes += row->is_main;
		f->counts->threads += !event_is_derived(f->profile, row->event);
	}
	if (options->cpus)
		thread_rows_add_cpus(&f->rows);
	f->difference = options->difference;
	if (f->difference)
		thread_rows_add_difference(&f->rows);
}

int firefox_write(const struct profile *p, const struct export_options *options,
		  struct outfile *out, struct export_counts *counts, struct error *err)
{
	const struct export_options defaults = {0};
	struct export_counts own;
	struct firefox f = {
		.profile = p,
		.texts.base = &p->strings,
		.counts = counts ? counts : &own,
		.has_flags = options && options->is_newest,
	};
	struct jsonw w;

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	make_rows(&f, options ? options : &defaults);
	firefox_find_peaks(&f);
	firefox_tables_init(&f);

	jsonw_init(&w, out);
	write_profile(&f, &w);
	jsonw_release(&w);

	firefox_tables_release(&f);
	thread_rows_release(&f.rows);
	string_overlay_release(&f.texts);
	return 0;
}

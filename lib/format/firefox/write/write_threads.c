/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/write_internal.h"

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
		jsonw_ms(w, firefox_time(f, end > start ? end : start));
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

/* Writes differences of whole nanoseconds, so that rounding errors do not add up. */
static void write_time_deltas(struct jsonw *w, const struct firefox_samples *samples)
{
	uint64_t previous = 0;
	char *at = jsonw_column_begin(w, "timeDeltas");

	vec_for_each(&samples->rows, const struct sample *, sample) {
		at = jsonw_column_room(w, at);
		at = jsonw_column_next(jsonw_format_ms(at, sample->time - previous));
		previous = sample->time;
	}
	jsonw_column_end(w, at);
}

static const char *weight_type(const struct profile *p, uint8_t event)
{
	double size;
	enum measure measure = event_measure(p, event, &size);

	return measure == MEASURE_BYTES && size <= 1 ? WEIGHTS_ARE_BYTES : WEIGHTS_ARE_COUNTS;
}

/* Returns the time of a weight of 1, ns; 0: the weights are no times. */
static uint64_t weight_time(const struct firefox *f, uint8_t event)
{
	double size;

	if (!event)
		return firefox_interval(f);
	return event_measure(f->profile, event, &size) == MEASURE_TIME && size == EVENT_TIME_NS
		       ? EVENT_TIME_NS
		       : 0;
}

/* `interval`: see weight_time(); if it is 0, the type of the weights is `type`. */
static void write_weights(struct jsonw *w, const struct firefox_samples *samples, uint64_t interval,
			  const char *type)
{
	if (interval) {
		FIREFOX_COLUMN(w, "weight", &samples->rows, struct sample, sample, at,
			       jsonw_format_ms(at, interval * sample->weight));
	} else if (samples->has_weights) {
		FIREFOX_COLUMN(w, "weight", &samples->rows, struct sample, sample, at,
			       jsonw_format_u64(at, sample->weight));
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
	FIREFOX_COLUMN(w, "eventDelay", &samples->rows, struct sample, sample, at,
		       jsonw_format_ms(at, long_tasks_delay(&samples->tasks, sample->time, &task)));
}

static void write_samples(struct jsonw *w, const struct firefox_samples *samples, uint64_t interval,
			  const char *type)
{
	_Static_assert(NO_STACK == NO_POSITION, "one of them is null");

	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	FIREFOX_COLUMN(w, "stack", &samples->rows, struct sample, sample, at,
		       firefox_format_position(at, sample->stack));
	write_time_deltas(w, samples);
	write_weights(w, samples, interval, type);
	FIREFOX_COLUMN(w, "threadCPUDelta", &samples->rows, struct sample, sample, at,
		       jsonw_format_u64(at, sample->cpu_delta));
	write_event_delays(w, samples);
	jsonw_key(w, "length");
	jsonw_u64(w, samples->rows.count);
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

static uint32_t use_tid(struct tid_uses *uses, const struct thread_row *row)
{
	return is_no_thread(row) || row->is_merged ? 0 : count_tid(uses, row->tid);
}

void firefox_write_threads(struct firefox *f, struct jsonw *w)
{
	struct firefox_samples samples = {0};
	struct marker_list markers = {0};
	struct tid_uses uses = {0};

	jsonw_array_begin(w);
	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		if (outfile_failed(w->out))
			break;
		jsonw_object_begin(w);
		write_head(f, w, row, use_tid(&uses, row));
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
	vec_release(&markers.markers);
	vec_release(&uses.rows);
	index_release(&uses.index);
}

/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/firefox_read.h"

#include <math.h>

#include "lib/format/firefox/read/read_internal.h"
#include "lib/format/firefox/read/read_tables.h"

/* Marks ids that are not numbers in the file. */
#define NAMED_ID (1u << 31)

/* An entry of "threads": a thread or a derived row of one. */
struct row {
	struct profile_thread thread;
	struct sample_list samples;
	struct allocations allocations;
	struct span markers;
	char *view; /* kind of derived row, owned; NULL: a real thread */
	char *tid; /* as spelled in the file; owned */
	char *type; /* type of the process; owned */
	bool has_pid, has_text_pid;
	int64_t cpu_ns; /* CPU time of a row that represents several threads; 0: sum of samples */
};

struct process {
	uint32_t pid, incarnation;
	bool is_folded;
	thread_id first, main; /* main: NO_THREAD until the main thread is found */
};

struct processes {
	VEC(struct process) rows;
	struct index index;
};

static void row_release_cleanup(struct row *row)
{
	vec_release(&row->samples.rows);
	vec_release(&row->allocations.rows);
	free(row->view);
	free(row->tid);
	free(row->type);
}

static uint32_t parse_id(struct import *r, const char *text, uint32_t *again)
{
	const char *at = text, *end = text + strlen(text);
	uint64_t id = 0, count = 0;

	*again = 0;
	if (!text_scan_decimal(&at, end, &id) || id >= NAMED_ID)
		return NAMED_ID | strings_intern(&r->profile->strings, text);
	if (*at++ == '.' && text_scan_decimal(&at, end, &count) && count < NAMED_ID)
		*again = (uint32_t)count;
	return (uint32_t)id;
}

uint32_t import_id(struct import *r, struct json_cursor *s, uint32_t *again)
{
	_cleanup_free_ char *text = layout_read_value(s);

	return parse_id(r, text, again);
}

static void read_ids(struct import *r, struct json_cursor *s, struct span key, struct row *row)
{
	_cleanup_free_ char *text = NULL;
	uint32_t again;

	if (span_is(s, key, "pid")) {
		row->has_text_pid = json_cursor_peek(s) == '"';
		row->has_pid = !json_cursor_null(s);
		if (row->has_pid)
			row->thread.pid = import_id(r, s, &row->thread.incarnation);
		return;
	}
	text = layout_read_value(s);
	row->thread.tid = parse_id(r, text, &again);
	free(row->tid);
	row->tid = steal(text);
}

/* Reads an end time; null means alive when recording ended. */
static uint64_t read_end(struct import *r, struct json_cursor *s)
{
	uint64_t end = import_instant(s);

	return end == CLOCK_NO_TIME ? 0 : import_moment(r, end);
}

static bool read_life(struct import *r, struct json_cursor *s, struct span key,
		      struct profile_thread *thread)
{
	if (span_is(s, key, "registerTime"))
		thread->start = import_moment(r, import_time(s));
	else if (span_is(s, key, "unregisterTime"))
		thread->end = read_end(r, s);
	else if (span_is(s, key, "processStartupTime"))
		thread->process_start = import_moment(r, import_time(s));
	else if (span_is(s, key, "processShutdownTime"))
		thread->process_end = read_end(r, s);
	else
		return false;
	return true;
}

static bool read_head(struct import *r, struct json_cursor *s, struct span key, struct row *row)
{
	if (span_is(s, key, "name"))
		row->thread.name = import_string(r, s);
	else if (span_is(s, key, "processName"))
		row->thread.process_name = import_string(r, s);
	else if (span_is(s, key, "pid") || span_is(s, key, "tid"))
		read_ids(r, s, key, row);
	else if (span_is(s, key, "isMainThread"))
		row->thread.is_main = import_skip(s);
	else if (span_is(s, key, "profView") && !row->view)
		row->view = json_cursor_text(s);
	else if (span_is(s, key, "profCPUTime"))
		import_integer(s, &row->cpu_ns);
	else
		return read_life(r, s, key, &row->thread);
	return true;
}

/* Returns the number of rows of a table; 0 if it is not a table. */
static uint64_t read_length(struct json_cursor *s)
{
	struct decimal length = {0};

	json_for_each_member_if_any(s, key) {
		if (span_is(s, key, "length"))
			json_cursor_decimal(s, &length);
	}
	return length.millionths > 0 ? (uint64_t)length.millionths / 1000000 : 0;
}

static bool is_view(const struct row *row, const char *kind)
{
	return row->view && strcmp(row->view, kind) == 0;
}

/* True for a table that was read before. */
static bool is_own_table(const struct import *r, const struct json_cursor *s, struct span key)
{
	static const char *const names[] = {
		"stringArray", "stringTable",	"libs",		 "frameTable",	 "stackTable",
		"funcTable",   "resourceTable", "nativeSymbols", "pausedRanges", NULL};

	return r->read_own_tables && span_is_one_of(s, key, names);
}

static int read_member(struct import *r, struct json_cursor *s, struct span key, struct row *row,
		       struct error *err)
{
	uint64_t *unread = r->counts->unread;

	/*
	 * Samples of a difference derive from other threads, with weights that no real sample has.
	 */
	if (span_is(s, key, "samples") && is_view(row, "difference"))
		return 0;
	r->is_event = is_view(row, "event");
	if (span_is(s, key, "samples") && json_cursor_peek(s) == '{')
		return import_samples(r, s, &row->samples, err);
	else if (read_head(r, s, key, row))
		return 0;
	else if (span_is(s, key, "markers"))
		json_cursor_value(s, &row->markers);
	else if (span_is(s, key, "nativeAllocations") && json_cursor_peek(s) == '{')
		return import_allocations(r, s, &row->allocations, err);
	else if (span_is(s, key, "nativeAllocations") || span_is(s, key, "jsAllocations"))
		unread[UNREAD_ALLOCATIONS] += read_length(s);
	else if (span_is(s, key, "processType") && !row->type)
		row->type = json_cursor_text(s);
	else if (!span_is(s, key, "showMarkersInTimeline") && !is_own_table(r, s, key))
		unread[UNREAD_MEMBERS] += import_skip(s);
	return 0;
}

/* "worker (page-faults)" → "page-faults"; NULL for other titles. Free the result. */
static char *event_name(const struct import *r, string_id title)
{
	const char *text = strings_get(&r->profile->strings, title);
	const char *open = strrchr(text, '(');

	if (!open || !text_ends_with(open, ")"))
		return NULL;
	return xstrndup(open + 1, strlen(open) - 2);
}

/* Returns the thread of an event's row: the previous thread with the same ids. */
static struct profile_thread *find_owner(struct import *r, const struct row *row)
{
	struct threads *threads = &r->profile->threads;
	struct profile_thread *last;

	if (!threads->rows.count)
		return NULL;
	last = &vec_last(&threads->rows);
	return last->pid == row->thread.pid && last->incarnation == row->thread.incarnation &&
			       (last->tid == row->thread.tid || last->is_folded)
		       ? last
		       : NULL;
}

/* Views have no rows that only record CPU time. */
static void drop_edges(struct sample_list *samples)
{
	size_t kept = 0;

	vec_for_each(&samples->rows, const struct sample *, sample) {
		if (sample->weight)
			samples->rows.items[kept++] = *sample;
	}
	samples->rows.count = kept;
}

/* Adds the samples of an event to their thread. */
static void import_add_event(struct import *r, struct profile_thread *thread,
			     const struct sample_list *samples, uint8_t event)
{
	struct event_count *count = event_counts_get(&r->profile->events, event);
	struct samples of_event = {0};

	vec_for_each(&samples->rows, const struct sample *, row) {
		struct sample sample = *row;

		/* Derived from the event's rate, for drawing only. */
		sample.cpu_delta = 0;
		sample.event = event;
		count->samples++;
		count->weight += sample.weight;
		samples_add(&of_event, &sample);
	}
	samples_merge(&thread->samples, &of_event);
}

static bool fold_event(struct import *r, struct row *row)
{
	_cleanup_free_ char *name = event_name(r, row->thread.name);
	struct profile_thread *owner = find_owner(r, row);
	uint8_t event;

	if (!name || !owner)
		return false;
	drop_edges(&row->samples);
	event = import_event(r, name);
	if (event)
		import_add_event(r, owner, &row->samples, event);
	else
		r->counts->unread[UNREAD_SAMPLES] += row->samples.rows.count;
	return true;
}

static bool keep_cpu(struct import *r, struct row *row)
{
	const char *at = row->tid ? row->tid : "";
	uint64_t cpu;

	if (!text_starts_with(at, "cpu"))
		return false;
	at += strlen("cpu");
	if (!text_scan_decimal(&at, at + strlen(at), &cpu) || *at || cpu >= NO_CPU)
		return false;
	drop_edges(&row->samples);
	vec_push(&r->cpus, (struct cpu_view){.cpu = (uint16_t)cpu, .samples = row->samples});
	row->samples = (struct sample_list){0};
	return true;
}

/* Restores CPU time that the writer removed from samples shared by several threads. */
static void restore_cpu_time(struct row *row)
{
	uint64_t known = 0, wanted = row->cpu_ns > 0 ? (uint64_t)row->cpu_ns : 0;
	double passed = 0, factor;

	vec_for_each(&row->samples.rows, struct sample *, sample)
		known += sample->cpu_delta;
	if (wanted <= known || !known)
		return;
	factor = (double)wanted / (double)known;
	vec_for_each(&row->samples.rows, struct sample *, sample) {
		double before = floor(passed);

		/* Rounds the sum, so that it is exact at the end. */
		passed += sample->cpu_delta * factor;
		sample->cpu_delta = floor(passed) - before < UINT32_MAX
					    ? (uint32_t)(floor(passed) - before)
					    : UINT32_MAX;
	}
}

/* "cc1 × 180, 82 %" → "cc1 × 180": the writer appends the share. */
static string_id without_share(struct strings *strings, string_id name)
{
	const char *text = strings_get(strings, name);
	size_t size = strings_size(strings, name);
	size_t at = size > 2 && strcmp(text + size - 2, " %") == 0 ? size - 2 : 0;
	size_t digits = at;
	_cleanup_free_ char *short_name = NULL;

	while (at && (isdigit((unsigned char)text[at - 1]) || text[at - 1] == '.'))
		at--;
	if (at == digits || at < 2 || memcmp(text + at - 2, ", ", 2) != 0)
		return name;
	short_name = xstrndup(text, at - 2);
	return strings_intern(strings, short_name);
}

/* "pool 1582" → "pool": titles of threads with equal names end in the tid. */
static void drop_tid(struct import *r, struct profile_thread *thread)
{
	struct strings *strings = &r->profile->strings;
	_cleanup_free_ char *name = xstrdup(strings_get(strings, thread->name));
	char *blank = strrchr(name, ' '), tid[16];

	snprintf(tid, sizeof(tid), "%" PRIu32, thread->tid);
	if (thread->is_main || !blank || blank == name || strcmp(blank + 1, tid) != 0 ||
	    text_starts_with(name, "tid "))
		return;
	*blank = '\0';
	thread->name = strings_intern(strings, name);
}

static void take_samples(struct import *r, struct row *row)
{
	struct profile_thread *thread = &row->thread;

	thread->is_folded = is_view(row, "folded");
	if (thread->is_folded)
		restore_cpu_time(row);
	if (thread->is_folded && thread->name != NO_STRING)
		thread->name = thread->process_name = without_share(&r->profile->strings,
								    thread->name);
	samples_take(&thread->samples, row->samples.rows.items, row->samples.rows.count);
	row->samples = (struct sample_list){0};
	thread->allocations = row->allocations;
	row->allocations = (struct allocations){0};
	samples_for_each(&thread->samples, sample)
		r->profile->stats.cpu_samples += sample->weight != 0;
}

/* First version that marks main threads and has pids as strings. */
#define VERSION_MAIN 46

/* Older files have no pids, process types or main threads. */
static void upgrade_row(struct import *r, struct row *row)
{
	struct strings *strings = &r->profile->strings;
	struct profile_thread *thread = &row->thread;

	if (!row->type && thread->name != NO_STRING &&
	    strcmp(strings_get(strings, thread->name), "Content") == 0)
		thread->name = strings_intern(strings, "GeckoMain");
	if (!row->has_pid && r->process_pid) {
		thread->pid = r->process_pid;
	} else if (!row->has_pid) {
		thread->pid = (uint32_t)r->profile->threads.rows.count + 1;
		row->has_text_pid = true;
	}
	if (!row->tid)
		thread->tid = NAMED_ID | (uint32_t)r->profile->threads.rows.count;
	if (r->is_gecko || r->version < VERSION_MAIN)
		thread->is_main = strcmp(strings_get(strings, thread->name), "GeckoMain") == 0 ||
				  (!r->is_gecko && row->has_text_pid) ||
				  (!r->is_gecko && thread->pid == thread->tid);
}

static int read_row(struct import *r, struct json_cursor *s, struct error *err)
{
	_cleanup_(row_release) struct row row = {.thread = {.name = NO_STRING,
							    .process_name = NO_STRING,
							    .process_label = NO_STRING,
							    .arguments = NO_STRING}};
	bool is_derived;
	int ret = 0;

	if (r->read_own_tables)
		ret = r->read_own_tables(r, *s, err);
	for (struct span key = {0}; !ret && json_cursor_member(s, &key);)
		ret = read_member(r, s, key, &row, err);
	if (ret)
		return ret;
	if (r->read_own_tables)
		upgrade_row(r, &row);
	if (is_view(&row, "event"))
		is_derived = fold_event(r, &row);
	else if (is_view(&row, "cpu"))
		is_derived = keep_cpu(r, &row);
	else
		is_derived = is_view(&row, "difference");
	if (is_derived)
		return 0;
	if (!is_view(&row, "folded"))
		drop_tid(r, &row.thread);
	/*
	 * Derived rows only repeat markers of other rows. Open intervals last as long as the
	 * samples.
	 */
	take_samples(r, &row);
	ret = import_markers(r, row.markers, &row.thread, err);
	threads_add(&r->profile->threads, &row.thread);
	return ret;
}

INDEX_EQUAL(process_equal, struct processes, rows,
	    a->pid == b->pid && a->incarnation == b->incarnation && a->is_folded == b->is_folded)

/* Gives each process exactly one main thread: the first one marked so, else its first thread. */
static void settle_mains(struct import *r)
{
	struct threads *threads = &r->profile->threads;
	struct processes processes = {0};

	for (thread_id id = 0; id < threads->rows.count; id++) {
		struct profile_thread *thread = &threads->rows.items[id];
		struct process process = {thread->pid, thread->incarnation, thread->is_folded, id,
					  NO_THREAD};
		uint64_t hash = hash_pair(process.pid,
					  (uint64_t)process.incarnation << 1 | process.is_folded);
		uint32_t at = index_intern(&processes.index, hash, process_equal, &processes,
					   &process, processes.rows.count);

		if (at == processes.rows.count)
			vec_push(&processes.rows, process);
		if (thread->is_main && processes.rows.items[at].main == NO_THREAD)
			processes.rows.items[at].main = id;
		thread->is_main = false;
	}
	vec_for_each(&processes.rows, const struct process *, process)
		threads_get(threads, process->main == NO_THREAD ? process->first : process->main)
			->is_main = true;
	vec_release(&processes.rows);
	index_release(&processes.index);
}

static void import_settle_threads(struct import *r)
{
	const struct threads *threads = &r->profile->threads;

	settle_mains(r);
	/* The recorded process comes first, if any. */
	if (threads->rows.count && !threads->rows.items[0].incarnation)
		r->profile->meta.root_pid = threads->rows.items[0].pid;
}

int import_threads(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.threads);
	size_t row = 0;
	int ret = 0;

	for (size_t i = 0; !ret && json_cursor_element(&s, i); i++) {
		/* In the oldest Gecko files, other processes are strings between threads. */
		if (json_cursor_peek(&s) == '{')
			ret = read_row(r, &s, err);
		else
			s.failed = !r->is_gecko || json_cursor_peek(&s) != '"';
		row += !ret && !s.failed;
	}
	if (!ret && s.failed)
		ret = error_text(err, -EBADMSG, "the thread is missing or damaged");
	return ret ? error_wrap(err, "threads[%zu]", row), ret : 0;
}

/* Adds the contents of derived rows to the samples of their threads. */

/* Number of features before the events: "stackwalk", "cpu", and the clock. */
#define FEATURES_BEFORE_EVENTS 3
/* Limit of samples to search per time, so that a file of equal times costs no more than others. */
#define SAME_TIME_MAX 64

/* Numbers events as the recording did, if its features list them. */
static void find_events(struct import *r)
{
	const struct profile_meta *meta = &r->profile->meta;

	if (r->events.count)
		return;
	for (size_t i = FEATURES_BEFORE_EVENTS;
	     i < meta->features.count && r->events.count < EVENT_COUNTS_MAX; i++)
		vec_push(&r->events, xstrdup(meta->features.items[i]));
}

uint8_t import_event(struct import *r, const char *name)
{
	struct event_count *count;
	size_t row = 0;

	find_events(r);
	while (row < r->events.count && strcmp(r->events.items[row], name) != 0)
		row++;
	if (row + 1 >= EVENT_COUNTS_MAX)
		return 0;
	if (row == r->events.count)
		vec_push(&r->events, xstrdup(name));
	count = event_counts_get(&r->profile->events, (uint32_t)row + 1);
	count->name = strings_intern(&r->profile->strings, name);
	return (uint8_t)(row + 1);
}

/* A sample of the clock, of any thread. */
struct clock_sample {
	stack_id stack;
	uint16_t cpu;
};

struct clock_samples {
	struct profile *profile;
	VEC(struct clock_sample) rows; /* in thread order */
	VEC(struct radix_row) times;
};

static void list_samples(struct clock_samples *list)
{
	vec_for_each(&list->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->event || list->rows.count == UINT32_MAX)
				continue;
			vec_push(&list->times,
				 (struct radix_row){sample->time, (uint32_t)list->rows.count});
			vec_push(&list->rows, (struct clock_sample){sample->stack, sample->cpu});
		}
	}
	if (list->times.count)
		radix_sort(list->times.items, list->times.count);
}

/* Sets the CPUs of the samples, in the order of the list. */
static void set_cpus(const struct clock_samples *list)
{
	size_t row = 0;

	vec_for_each(&list->profile->threads.rows, struct profile_thread *, thread) {
		samples_change_each(&thread->samples, sample) {
			if (!sample->event && row < list->rows.count)
				sample->cpu = list->rows.items[row++].cpu;
		}
	}
}

/* True if a CPU's stack equals the thread's, with or without a frame of its program above. */
static bool is_same_stack(const struct stacks *stacks, stack_id thread, stack_id cpu)
{
	while (thread != cpu && thread != NO_STACK && cpu != NO_STACK) {
		if (stacks->rows.items[thread].frame != stacks->rows.items[cpu].frame)
			return false;
		thread = stacks->rows.items[thread].parent;
		cpu = stacks->rows.items[cpu].parent;
	}
	return thread == cpu || (thread == NO_STACK && stacks->rows.items[cpu].parent == NO_STACK);
}

static void place_sample(const struct clock_samples *list, const struct sample *sample,
			 uint16_t cpu)
{
	size_t first = vec_count_front(&list->times, it, it->key < sample->time);

	for (size_t i = 0; i < SAME_TIME_MAX && first + i < list->times.count; i++) {
		const struct radix_row *time = &list->times.items[first + i];
		struct clock_sample *found = &list->rows.items[time->value];

		if (time->key != sample->time)
			return;
		if (found->cpu == NO_CPU &&
		    is_same_stack(&list->profile->stacks, found->stack, sample->stack)) {
			found->cpu = cpu;
			return;
		}
	}
}

/* Sets the CPUs of samples. Call once, at the end. */
static void import_apply_cpus(struct import *r)
{
	struct clock_samples list = {.profile = r->profile};

	if (!r->cpus.count)
		return;
	list_samples(&list);
	vec_for_each(&r->cpus, const struct cpu_view *, view) {
		vec_for_each(&view->samples.rows, const struct sample *, sample)
			place_sample(&list, sample, view->cpu);
	}
	set_cpus(&list);
	vec_release(&list.rows);
	vec_release(&list.times);
	/* The writer recreates stacks with programs. */
	profile_drop_unused(r->profile);
}

#define VERSION_CATEGORIES 12 /* first version with a list of categories */

string_id import_string(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *text = json_cursor_text(s);

	return strings_intern(&r->profile->strings, text);
}

uint64_t import_instant(struct json_cursor *s)
{
	struct import_clock clock = {0};
	struct json_cursor inside;
	struct span value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	return import_clock_add(&clock, &inside);
}

uint64_t import_time(struct json_cursor *s)
{
	uint64_t time = import_instant(s);

	return time == CLOCK_NO_TIME ? 0 : time;
}

bool import_integer(struct json_cursor *s, int64_t *number)
{
	struct json_cursor inside;
	struct decimal decimal = {0};
	struct span value;

	*number = 0;
	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	if (json_cursor_i64(&inside, number))
		return true;
	inside = json_cursor_within(s, value);
	json_cursor_decimal(&inside, &decimal);
	*number = decimal.millionths / 1000000;
	return !inside.failed && !(decimal.millionths % 1000000) && !decimal.thousandths;
}

uint64_t import_moment(const struct import *r, uint64_t ns)
{
	int64_t moment;

	if (!clock_can_show(ns))
		return CLOCK_NO_TIME;
	moment = (int64_t)ns + r->shift_ns;
	return r->profile->meta.start_ns + (moment > 0 ? (uint64_t)moment : 0);
}

/* Reads a number. Null and too large numbers are accepted as missing. */
static bool read_ms(struct json_cursor *s, struct decimal *ms)
{
	struct json_cursor value = *s;

	if (json_cursor_decimal(s, ms))
		return true;
	if (strchr("-0123456789n", json_cursor_peek(&value))) {
		*s = value;
		json_cursor_skip(s);
	}
	return false;
}

uint64_t import_clock_add(struct import_clock *clock, struct json_cursor *s)
{
	struct decimal ms = {0};
	int64_t ns;

	if (!read_ms(s, &ms) || __builtin_add_overflow(clock->ns, ms.millionths, &ns))
		return CLOCK_NO_TIME;
	clock->ns = ns;
	clock->ps += ms.thousandths;
	if (clock->ps >= 1000 || clock->ps < 0) {
		int32_t carry = clock->ps < 0 ? -1 : 1;

		clock->ns += carry;
		clock->ps -= 1000 * carry;
	}
	ns = clock->ns + (clock->ps >= 500);
	return clock_can_show((uint64_t)ns) ? (uint64_t)ns : CLOCK_NO_TIME;
}

/* Returns true if a value other than an object has content. */
static bool says_something(const struct json_cursor *s, struct span value)
{
	struct json_cursor inside = json_cursor_within(s, value);

	switch (json_cursor_peek(&inside)) {
	case 'n':
	case 'f':
		return false;
	case '[':
		return json_cursor_element(&inside, 0);
	case '"':
		return value.end - value.start > strlen("\"\"");
	default:
		return true;
	}
}

bool import_skip(struct json_cursor *s)
{
	struct json_cursor inside;
	struct span value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	if (json_cursor_peek(&inside) != '{')
		return says_something(s, value);
	/* A table without rows is as empty as an object without members. */
	json_for_each_member(&inside, key) {
		json_cursor_value(&inside, &value);
		if (!span_is(&inside, key, "length") && says_something(&inside, value))
			return true;
	}
	return false;
}

void import_release(struct import *r)
{
	layout_release(&r->layout);
	cells_release(&r->cells);
	profile_free(r->profile);
	free(r->strings);
	free(r->sources);
	free(r->stack_ids);
	free(r->cause_ids);
	free(r->meanings);
	own_tables_release(&r->own);
	vec_for_each(&r->events, char **, name)
		free(*name);
	vec_release(&r->events);
	vec_release(&r->row_fields);
	vec_for_each(&r->cpus, struct cpu_view *, view)
		vec_release(&view->samples.rows);
	vec_release(&r->cpus);
}

int import_finish(struct import *r, struct error *err)
{
	if (!r->profile->threads.rows.count)
		return error_text(err, -EBADMSG, "the profile has no threads");
	import_settle_threads(r);
	import_apply_cpus(r);
	/* Drop each frame's unused form: leaf or caller. */
	if (r->read_own_tables)
		profile_drop_unused(r->profile);
	return 0;
}

static int read_parts(struct import *r, struct error *err)
{
	int ret = import_meta(r, err);

	if (!ret && r->version < VERSION_CATEGORIES)
		ret = import_old_categories(r, err);
	if (!ret)
		ret = r->layout.version < LAYOUT_VERSION_MIN ? import_own_tables(r, err)
							     : import_tables(r, err);
	if (ret)
		return ret;
	if (r->layout.version < LAYOUT_VERSION_MIN)
		import_old_schemas(r);
	import_schemas(r);
	ret = import_threads(r, err);
	if (ret)
		return ret;
	import_join_waits(r);
	ret = import_finish(r, err);
	if (ret)
		return ret;
	import_overhead(r);
	ret = import_counters(r, err);
	import_set_range(r);
	return ret;
}

int firefox_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		 struct error *err)
{
	struct import_counts own;
	struct import r = {.counts = counts ? counts : &own, .profile = profile_new()};
	int ret;

	*r.counts = (struct import_counts){0};
	ret = layout_find(&r.layout, text, size, err);
	r.version = r.layout.version;
	if (!ret)
		ret = read_parts(&r, err);
	if (!ret)
		*p = steal(r.profile);
	import_release(&r);
	return ret;
}

bool firefox_is_current(const char *text, size_t size)
{
	int64_t version = 0;
	struct json_cursor s;

	json_cursor_init(&s, text, size);
	for (struct span key = {0}; !version && json_cursor_member(&s, &key);) {
		if (!span_is(&s, key, "meta") || json_cursor_peek(&s) != '{')
			continue;
		json_for_each_member(&s, member) {
			if (span_is(&s, member, "preprocessedProfileVersion"))
				import_integer(&s, &version);
		}
		break;
	}
	return version >= LAYOUT_VERSION_MIN;
}

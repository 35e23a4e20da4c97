/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <math.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/index.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/internal.h"

/* Marks ids that are words in the file. */
#define NAMED_ID (1u << 31)

/* An entry of "threads": a thread or a view of one. */
struct row {
	struct profile_thread thread;
	struct sample_list samples;
	struct allocations allocations;
	struct span markers;
	char *view; /* kind of view, owned; NULL: a thread */
	char *tid; /* owned; as spelled */
	char *type; /* of the process, owned */
	bool has_pid, has_text_pid;
	int64_t cpu_ns; /* of several threads together; 0: that of the samples */
};

struct process {
	uint32_t pid, incarnation;
	bool is_folded;
	thread_id first, main; /* main: NO_THREAD until one is found */
};

struct processes {
	VEC(struct process) rows;
	struct index index;
};

static void row_release(struct row *row)
{
	vec_release(&row->samples.rows);
	vec_release(&row->allocations.rows);
	free(row->view);
	free(row->tid);
	free(row->type);
}

DEFINE_CLEANUP(struct row *, row_release)

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

/* Returns a string's text, or a number as spelled. */
static char *read_id(struct json_cursor *s)
{
	struct span value;

	if (json_cursor_peek(s) == '"')
		return json_cursor_text(s);
	json_cursor_value(s, &value);
	return xstrndup(s->text + value.start, value.end - value.start);
}

uint32_t import_id(struct import *r, struct json_cursor *s, uint32_t *again)
{
	_cleanup_free_ char *text = read_id(s);

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
	text = read_id(s);
	row->thread.tid = parse_id(r, text, &again);
	free(row->tid);
	row->tid = steal(text);
}

/* Null: alive when recording ended. */
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
	struct json_cursor_list list = {0};
	struct decimal length = {0};
	struct span key;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return 0;
	}
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "length"))
			json_cursor_decimal(s, &length);
		else
			json_cursor_skip(s);
	}
	return length.millionths > 0 ? (uint64_t)length.millionths / 1000000 : 0;
}

static bool is_view(const struct row *row, const char *kind)
{
	return row->view && strcmp(row->view, kind) == 0;
}

/* Is that a table which was read before? */
static bool is_own_table(const struct import *r, const struct json_cursor *s, struct span key)
{
	static const char *const names[] = {"stringArray",   "stringTable",   "libs",
					    "frameTable",    "stackTable",    "funcTable",
					    "resourceTable", "nativeSymbols", "pausedRanges"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && r->read_own_tables; i++) {
		if (span_is(s, key, names[i]))
			return true;
	}
	return false;
}

static int read_member(struct import *r, struct json_cursor *s, struct span key, struct row *row,
		       struct error *err)
{
	uint64_t *unread = r->counts->unread;

	/* Samples of a difference are those of other threads, with weights that no sample has. */
	if (span_is(s, key, "samples") && is_view(row, "difference"))
		json_cursor_skip(s);
	else if (span_is(s, key, "samples") && json_cursor_peek(s) == '{')
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
	else if (span_is(s, key, "showMarkersInTimeline") || is_own_table(r, s, key))
		json_cursor_skip(s);
	else
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

/* The thread of an event's row: the previous thread with the same ids. */
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

/* Views have no rows that only say what CPU time was used. */
static void drop_edges(struct sample_list *samples)
{
	size_t kept = 0;

	vec_for_each(&samples->rows, const struct sample *, sample) {
		if (sample->weight)
			samples->rows.items[kept++] = *sample;
	}
	samples->rows.count = kept;
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

/* Gives samples that several threads share the CPU time that the writer took from them. */
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

/* "cc1 × 180, 82 %" → "cc1 × 180": the share is the writer's. */
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

/* First version in which threads say that they are main threads; their pids are texts since. */
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
	struct row row = {.thread = {.name = NO_STRING,
				     .process_name = NO_STRING,
				     .process_label = NO_STRING,
				     .arguments = NO_STRING}};
	_cleanup_(row_release) struct row *released = &row;
	struct json_cursor_list list = {0};
	bool is_derived;
	struct span key;
	int ret = 0;

	(void)released;
	if (r->read_own_tables)
		ret = r->read_own_tables(r, *s, err);
	while (!ret && json_cursor_member(s, &list, &key))
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
	/* Views have no markers. Those of intervals without an end last as long as the samples. */
	take_samples(r, &row);
	ret = import_markers(r, row.markers, &row.thread, err);
	threads_add(&r->profile->threads, &row.thread);
	return ret;
}

static bool process_equal(const void *table, uint32_t id, const void *key)
{
	const struct process *a = &((const struct processes *)table)->rows.items[id], *b = key;

	return a->pid == b->pid && a->incarnation == b->incarnation && a->is_folded == b->is_folded;
}

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
		uint32_t at = index_find(&processes.index, hash, process_equal, &processes,
					 &process);

		if (at == INDEX_NONE) {
			at = (uint32_t)processes.rows.count;
			vec_push(&processes.rows, process);
			index_add(&processes.index, hash, at);
		}
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

void import_settle_threads(struct import *r)
{
	const struct threads *threads = &r->profile->threads;

	settle_mains(r);
	/* The recorded process, if there is one, comes first. */
	if (threads->rows.count && !threads->rows.items[0].incarnation)
		r->profile->meta.root_pid = threads->rows.items[0].pid;
}

int import_threads(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.threads);
	struct json_cursor_list list = {0};
	size_t row = 0;
	int ret = 0;

	while (!ret && json_cursor_element(&s, &list)) {
		/* In the oldest Gecko files, other processes are texts between threads. */
		if (r->is_gecko && json_cursor_peek(&s) == '"')
			json_cursor_skip(&s);
		else if (json_cursor_peek(&s) != '{')
			s.failed = true;
		else
			ret = read_row(r, &s, err);
		row += !ret && !s.failed;
	}
	if (!ret && s.failed)
		ret = error_text(err, -EBADMSG, "there is no thread, or it is damaged");
	return ret ? error_wrap(err, "threads[%zu]", row), ret : 0;
}

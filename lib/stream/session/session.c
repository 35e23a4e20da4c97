/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/session.h"

#include "lib/model/meaning/marker_completion.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/model/tables/markers.h"
#include "lib/path/path_walk.h"
#include "lib/path/thread_timelines.h"
#include "lib/stream/record/records.h"
#include "lib/stream/session/code/code_table.h"
#include "lib/stream/session/markers/marker_feed.h"
#include "lib/stream/session/row_bounds.h"
#include "lib/stream/session/sample_feed.h"
#include "lib/stream/session/tasks/tasks.h"
#include "lib/stream/session/tasks/thread.h"
#include "lib/stream/session/waits/waits.h"

/* Enters counters of the stream into the profile. */

/* Maximum number of values; beyond it, every other one is dropped. */
#define COUNTER_VALUES_MAX (1u << 20)

struct wire_counter {
	uint32_t wire_id;
	counter_id id;
	uint64_t total; /* sum of all changes, with wraparound */
};

struct counter_feed {
	struct profile *profile;
	struct tasks *tasks;
	VEC(struct wire_counter) rows;
	struct index by_wire_id;
	size_t values; /* number of values of all counters */
	size_t max; /* limit of `values`; COUNTER_VALUES_MAX except in tests */
};

/*
 * Labels that a program gives to a thread's work: each becomes markers over the times of its
 * samples.
 */

struct label_texts {
	string_id key, text;
};

/* A thread's labels since its last label record, and their samples up to a pause. */
struct label_run {
	struct label_texts labels[LABELS_MAX]; /* sorted by key, because Go's maps have no order */
	uint32_t count;
	uint32_t samples; /* 0: no sample yet */
	uint64_t first, last; /* times of the first and the last sample, CLOCK_MONOTONIC ns */
};

struct label_feed {
	struct tasks *tasks;
	/* By thread_id and enum label_set; missing entries are empty. */
	VEC(struct label_run) runs;
};

INDEX_HAS(wire_id_equal, struct counter_feed, rows, wire_id)

static uint32_t find(const struct counter_feed *f, uint32_t wire_id)
{
	return index_find(&f->by_wire_id, hash_u64(wire_id), wire_id_equal, f, &wire_id);
}

/* Consumes the next string; NO_STRING if it is empty. */
static string_id take_text(struct strings *strings, const char **text, size_t size)
{
	const char *start = *text;

	*text += size;
	return size ? strings_intern_sized(strings, start, size) : NO_STRING;
}

/* Ignores later descriptions of the same id, and any without a name. */
static void counter_feed_info(struct counter_feed *f, const struct rec_counter_info *rec)
{
	struct strings *strings = &f->profile->strings;
	struct wire_counter row = {.wire_id = rec->counter};
	struct counter counter = {.graph = rec->graph};
	const char *text = rec->text;

	if (!rec->name_size || find(f, rec->counter) != INDEX_NONE)
		return;
	if (rec->rec.pid) {
		process_id id = tasks_process(f->tasks, &rec->rec);
		const struct process *process = &f->tasks->processes.rows.items[id];

		counter.pid = process->pid;
		counter.incarnation = process->incarnation;
	}
	counter.name = take_text(strings, &text, rec->name_size);
	counter.category = take_text(strings, &text, rec->category_size);
	counter.description = take_text(strings, &text, rec->description_size);
	counter.label = take_text(strings, &text, rec->label_size);
	counter.unit = take_text(strings, &text, rec->unit_size);
	counter.color = take_text(strings, &text, rec->color_size);
	row.id = profile_counters_add(&f->profile->counters, &counter);
	if (row.id == NO_COUNTER)
		return;
	index_add(&f->by_wire_id, hash_u64(row.wire_id), (uint32_t)f->rows.count);
	vec_push(&f->rows, row);
}

/* Halves the values of the counters with the most. */
static void limit_values(struct counter_feed *f)
{
	struct profile_counters *counters = &f->profile->counters;
	uint64_t *counts = xreallocarray(NULL, counters->rows.count + 1, sizeof(*counts)), share;

	for (size_t i = 0; i < counters->rows.count; i++)
		counts[i] = counters->rows.items[i].samples.count;
	share = fair_share(counts, counters->rows.count, f->max / 2);
	free(counts);
	f->values = 0;
	vec_for_each(&counters->rows, struct counter *, counter) {
		while (counter->samples.count > share && counter->samples.count > 2)
			f->profile->stats.merged_counter_values += counter_halve(counter);
		f->values += counter->samples.count;
	}
	/* The number of counters allows no further reduction. */
	if (f->values > f->max / 2)
		f->max = 2 * f->values;
}

/* Values of a counter without a description are counted as lost. */
static void counter_feed_count(struct counter_feed *f, const struct rec_counter *rec)
{
	uint32_t row = find(f, rec->counter);
	int64_t delta = rec->delta;
	uint64_t *total;

	if (row == INDEX_NONE) {
		f->profile->stats.lost_counter_values++;
		return;
	}
	total = &f->rows.items[row].total;
	if (rec->rec.flags & COUNTER_TOTAL)
		delta = (int64_t)((uint64_t)rec->delta - *total);
	*total += (uint64_t)delta;
	if (rec->rec.flags & COUNTER_TOTAL && !delta)
		return;
	counter_add_sample(&f->profile->counters.rows.items[f->rows.items[row].id],
			   tasks_time(f->tasks, rec->rec.time), delta);
	if (++f->values > f->max)
		limit_values(f);
}

/*
 * A marker ends after this many intervals without a sample, as the thread was idle. With fewer,
 * each tick of a thread that runs now and then would be a marker of its own.
 */
#define PAUSE_INTERVALS 10
/*
 * Markers begin and end this much before the samples they cover: rounding errors in readers must
 * not exclude samples.
 */
#define AHEAD_NS 1000

/* Ends the open markers of a run, at `limit` at the latest. */
static void end_markers(struct label_feed *f, size_t row, uint64_t limit)
{
	thread_id thread = (thread_id)(row / LABEL_SETS);
	struct profile *p = f->tasks->profile;
	struct label_run *run = &f->runs.items[row];
	uint64_t end = run->last + p->meta.interval_ns;

	if (!run->samples)
		return;
	if (end > limit)
		end = limit > run->last ? limit : run->last;
	for (uint32_t i = 0; i < run->count; i++) {
		_cleanup_free_ char *key = xstrdup(strings_get(&p->strings, run->labels[i].key));
		_cleanup_free_ char *text = xstrdup(strings_get(&p->strings, run->labels[i].text));
		const struct label_marker label = {
			.key = key,
			.text = text,
			.unit = "",
			.samples = run->samples,
		};

		label_marker_add(p, thread, &label, tasks_time(f->tasks, run->first - AHEAD_NS),
				 tasks_time(f->tasks, end - AHEAD_NS));
	}
	run->samples = 0;
}

static int compare_labels(const void *a, const void *b)
{
	const struct rec_label *x = *(const struct rec_label *const *)a;
	const struct rec_label *y = *(const struct rec_label *const *)b;
	size_t size = x->key_size < y->key_size ? x->key_size : y->key_size;

	return memcmp(x->key, y->key, size) ?: x->key_size - y->key_size;
}

static void read_labels(struct strings *strings, const struct rec_labels *rec,
			struct label_run *run)
{
	const struct rec_label *sorted[LABELS_MAX];

	for (size_t i = 0; i < rec->count; i++)
		sorted[i] = &rec->labels[i];
	qsort(sorted, rec->count, sizeof(*sorted), compare_labels);
	for (size_t i = 0; i < rec->count; i++) {
		_cleanup_free_ char *text = xasprintf("%.*s%s", sorted[i]->value_size,
						      sorted[i]->value,
						      sorted[i]->flags & LABEL_CUT ? "…" : "");

		run->labels[i].key = strings_intern_sized(strings, sorted[i]->key,
							  sorted[i]->key_size);
		run->labels[i].text = strings_intern(strings, text);
	}
	run->count = rec->count;
}

static void label_feed_labels(struct label_feed *f, const struct rec_labels *rec)
{
	size_t row = (size_t)tasks_sampled(f->tasks, &rec->rec, 0) * LABEL_SETS + rec->set;
	struct label_run next = {0}, *run;

	if (!rec->count && row >= f->runs.count)
		return;
	read_labels(&f->tasks->profile->strings, rec, &next);
	while (f->runs.count <= row)
		vec_push(&f->runs, (struct label_run){0});
	run = &f->runs.items[row];
	if (run->count == next.count && memcmp(run->labels, next.labels, sizeof(next.labels)) == 0)
		return;
	end_markers(f, row, rec->rec.time);
	*run = next;
}

/* Takes a tick of the clock. Costs nothing in recordings without labels. */
static void label_feed_sample(struct label_feed *f, const struct rec *rec)
{
	uint64_t pause = PAUSE_INTERVALS * f->tasks->profile->meta.interval_ns;
	size_t first;

	if (!f->runs.count)
		return;
	first = (size_t)tasks_sampled(f->tasks, rec, 0) * LABEL_SETS;
	for (size_t row = first; row < first + LABEL_SETS && row < f->runs.count; row++) {
		struct label_run *run = &f->runs.items[row];

		if (!run->count)
			continue;
		if (run->samples && rec->time > run->last + pause)
			end_markers(f, row, rec->time);
		if (!run->samples)
			run->first = rec->time;
		run->last = rec->time;
		run->samples++;
	}
}

/* Ends the markers still open. */
static void label_feed_finish(struct label_feed *f)
{
	for (size_t row = 0; row < f->runs.count; row++)
		end_markers(f, row, f->tasks->profile->meta.end_ns);
}

/*
 * Follows births, ends and waits of threads for the critical path, and at the end makes markers of
 * its parts. Does nothing in recordings without SETTING_CRITICAL_PATH.
 */

/* A wait with a record of its start, until the thread is seen again. */
struct begun_wait {
	uint64_t start; /* 0: none */
	uint32_t cpu; /* as in struct rec_sample */
	struct wait_reason reason;
};

struct path_feed {
	struct tasks *tasks;
	struct waits *waits;
	bool is_on;
	struct timelines lines;
	VEC(struct begun_wait) begun; /* by thread_id */
};

static thread_id find_thread(const struct path_feed *f, uint32_t pid, uint32_t tid)
{
	process_id process = process_table_find(&f->tasks->processes, pid);

	if (process == NO_PROCESS)
		return NO_THREAD;
	return thread_table_find(&f->tasks->threads, process, tid);
}

static uint32_t process_of(const struct path_feed *f, thread_id id)
{
	return f->tasks->threads.rows.items[id].process;
}

static void take_fork(struct path_feed *f, const struct rec_fork *rec)
{
	thread_id id = tasks_known(f->tasks, &rec->rec);

	if (id == NO_THREAD || rec->rec.flags & FORK_RUNNING)
		return;
	timelines_birth(&f->lines, id, process_of(f, id),
			find_thread(f, rec->parent_pid, rec->parent_tid), rec->rec.time);
}

/* The command begins with the first exec. */
static void take_name(struct path_feed *f, const struct rec_name *rec)
{
	thread_id id = tasks_known(f->tasks, &rec->rec);

	if (id == NO_THREAD || f->lines.root != NO_THREAD || !(rec->rec.flags & NAME_EXEC))
		return;
	timelines_begin(&f->lines, id, process_of(f, id), rec->rec.time);
}

/* Returns true if the call ends the process, not just the thread. */
static bool ends_process(const struct path_feed *f, const struct wait_reason *reason)
{
	const struct system_call *call = waits_call(f->waits, reason);

	return call && strcmp(call->name, "exit_group") == 0;
}

static bool waits_for(const struct path_feed *f, const struct wait_reason *reason,
		      enum call_wait what)
{
	const struct system_call *call = waits_call(f->waits, reason);

	return call && call->waits_for == what;
}

static struct begun_wait *begun_wait_of(struct path_feed *f, thread_id id)
{
	while (f->begun.count <= id)
		vec_push(&f->begun, (struct begun_wait){0});
	return &f->begun.items[id];
}

static void name_reason(struct path_feed *f, struct wait_reason reason)
{
	const struct profile *p = f->tasks->profile;
	func_id func;

	reason.argument = 0;
	if (reason.state == WAIT_RUNNABLE || timelines_label(&f->lines, &reason) != NO_STRING)
		return;
	/* This may move the functions. */
	func = waits_label(f->waits, &reason)->func;
	timelines_set_label(&f->lines, &reason, p->funcs.rows.items[func].name);
}

/*
 * Ends a wait by a record of the running thread, less the CPU time that it has used since. Kernels
 * do not report each switch.
 */
static void take_running(struct path_feed *f, thread_id id, uint64_t time, uint32_t cpu)
{
	struct begun_wait *begun = begun_wait_of(f, id);
	int32_t used = (int32_t)(cpu - begun->cpu);
	uint64_t ran = used > 0 ? (uint64_t)used << 4 : 0;
	struct timeline_wait wait = {
		.start = begun->start,
		.end = time,
		.waker = NO_THREAD,
		.is_lock = waits_for(f, &begun->reason, CALL_WAIT_LOCK),
		.is_sleep = waits_for(f, &begun->reason, CALL_WAIT_TIMER),
		.reason = begun->reason,
	};

	if (!begun->start || time <= begun->start)
		return;
	if (ran < time - begun->start)
		wait.end -= ran;
	begun->start = 0;
	name_reason(f, wait.reason);
	timelines_add(&f->lines, id, &wait);
}

static void take_sample(struct path_feed *f, const struct rec_sample *rec)
{
	thread_id id = tasks_known(f->tasks, &rec->rec);

	if (id != NO_THREAD)
		take_running(f, id, rec->rec.time, rec->cpu_time);
}

static void take_wait(struct path_feed *f, const struct rec_wait *rec)
{
	thread_id id = tasks_known(f->tasks, &rec->sample.rec);

	if (id == NO_THREAD || rec->reason.state == WAIT_DEAD)
		return;
	take_running(f, id, rec->start, rec->sample.cpu_time);
	*begun_wait_of(f, id) = (struct begun_wait){
		.start = rec->start,
		.cpu = rec->sample.cpu_time,
		.reason = rec->reason,
	};
}

static void take_end(struct path_feed *f, const struct rec *rec)
{
	thread_id id = tasks_known(f->tasks, rec), root = f->lines.root;
	const struct rec_wait *wait = rec->kind == REC_WAIT ? (const struct rec_wait *)rec : NULL;

	if (id == NO_THREAD)
		return;
	timelines_end(&f->lines, id, rec->time);
	if (wait && root != NO_THREAD && process_of(f, id) == process_of(f, root) &&
	    ends_process(f, &wait->reason))
		f->lines.leader = id;
}

static void set_waker(const struct path_feed *f, const struct rec_resumed *rec,
		      struct timeline_wait *wait)
{
	const struct run_waker *waker = rec_resumed_waker((struct rec_resumed *)rec);

	wait->woken = waker->woken;
	if (rec->rec.flags & RUN_BY_INTERRUPT) {
		wait->ended_by = END_INTERRUPT;
		return;
	}
	wait->waker = find_thread(f, waker->pid, waker->tid);
	wait->ended_by = wait->waker == NO_THREAD ? END_NOT_RECORDED : END_THREAD;
}

static void take_run(struct path_feed *f, const struct rec_resumed *rec)
{
	thread_id id = tasks_known(f->tasks, &rec->rec);
	struct timeline_wait wait = {
		.start = rec->start,
		.end = rec->rec.time,
		.queued = rec->queued,
		.waker = NO_THREAD,
		.is_lock = waits_for(f, &rec->reason, CALL_WAIT_LOCK),
		.is_sleep = waits_for(f, &rec->reason, CALL_WAIT_TIMER),
		.reason = rec->reason,
	};

	/* A wait that began before the thread was known does not belong to the command. */
	if (id == NO_THREAD || !rec->start)
		return;
	begun_wait_of(f, id)->start = 0;
	if (rec->rec.flags & RUN_WOKEN)
		set_waker(f, rec, &wait);
	name_reason(f, wait.reason);
	timelines_add(&f->lines, id, &wait);
}

/* Takes any record already taken by the tasks. */
static void path_feed_record(struct path_feed *f, const struct rec *rec)
{
	const struct rec_setting *setting = (const struct rec_setting *)rec;

	if (rec->kind == REC_SETTING && setting->setting == SETTING_CRITICAL_PATH)
		f->is_on = setting->value;
	if (!f->is_on)
		return;
	if (rec->kind == REC_FORK)
		take_fork(f, (const struct rec_fork *)rec);
	else if (rec->kind == REC_NAME)
		take_name(f, (const struct rec_name *)rec);
	else if (rec->kind == REC_SAMPLE)
		take_sample(f, (const struct rec_sample *)rec);
	else if (rec->kind == REC_RUN)
		take_run(f, (const struct rec_resumed *)rec);
	else if (rec->kind == REC_EXIT ||
		 (rec->kind == REC_WAIT &&
		  ((const struct rec_wait *)rec)->reason.state == WAIT_DEAD))
		take_end(f, rec);
	else if (rec->kind == REC_WAIT)
		take_wait(f, (const struct rec_wait *)rec);
}

/* Numbers the rows that the threads will have in the profile. */
static void number_rows(struct path_feed *f)
{
	uint32_t row = 0;

	for (thread_id id = 0; id < f->tasks->profile->threads.rows.count; id++) {
		bool is_wanted = process_is_wanted(tasks_process_of(f->tasks, id));

		if (id < f->lines.rows.count)
			f->lines.rows.items[id].row = is_wanted ? row : NO_THREAD;
		row += is_wanted;
	}
}

/* Adds the markers. By then, threads must have names, and unwanted ones must still exist. */
static void path_feed_finish(struct path_feed *f)
{
	struct path path;

	if (!f->is_on)
		return;
	for (thread_id id = 0; id < f->lines.rows.count; id++)
		f->lines.rows.items[id].row = id;
	path_walk(&f->lines, f->tasks->profile->meta.end_ns, PATH_PARTS_MAX, &path);
	path_markers_add(f->tasks->profile, &f->lines, &path);
	vec_release(&path.parts);
	number_rows(f);
}

/* Maximum number of CPU state changes listed one by one. */
#define CPU_CHANGES_MAX 32
/* After this time, no record of the previous epoch can still arrive. */
#define EPOCH_MIN_NS 5000000000ull

struct cpu_change {
	uint64_t time;
	uint16_t cpu;
	bool is_online;
};

struct session {
	struct profile *profile;
	struct tasks tasks;
	struct module_map modules;
	struct code_table code;
	struct losses losses;
	struct sample_feed samples;
	struct marker_feed markers;
	struct counter_feed counters;
	struct label_feed labels;
	struct path_feed path;
	struct pauses pauses;
	struct reclaim reclaim;
	VEC(struct cpu_change) cpu_changes;
	uint64_t cpu_change_count;
	uint64_t last_time;
	uint64_t epoch_ns; /* CLOCK_MONOTONIC ns at which stacks were last dropped */
};

struct session *session_new(struct profile *profile)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->profile = profile;
	schema_text_intern_first(&profile->markers.schemas, &profile->strings);
	tasks_init(&s->tasks, profile);
	s->modules = (struct module_map){.profile = profile};
	s->losses = (struct losses){.profile = profile};
	sample_feed_init(&s->samples, &s->tasks, &s->losses);
	s->tasks.threads.pauses = &s->pauses;
	s->markers = (struct marker_feed){.profile = profile, .tasks = &s->tasks};
	s->counters = (struct counter_feed){
		.profile = profile, .tasks = &s->tasks, .max = COUNTER_VALUES_MAX};
	s->labels.tasks = &s->tasks;
	s->path = (struct path_feed){.tasks = &s->tasks, .waits = &s->samples.waits};
	timelines_init(&s->path.lines);
	reclaim_init(&s->reclaim, &s->samples, &s->markers, ROW_LIMITS);
	return s;
}

void session_set_unlimited(struct session *s)
{
	s->reclaim.is_off = true;
	s->markers.bounds.is_off = true;
	s->counters.max = SIZE_MAX;
}

void session_set_meanwhile(struct session *s, void (*meanwhile)(void *ctx), void *ctx)
{
	s->reclaim.meanwhile = meanwhile;
	s->reclaim.ctx = ctx;
}

void session_keep_stacks(struct session *s)
{
	s->reclaim.keeps_stacks = true;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	code_table_release(&s->code);
	sample_feed_release(&s->samples);
	index_release(&s->modules.by_key);
	tasks_release(&s->tasks);
	losses_release(&s->losses);
	marker_feed_release(&s->markers);
	vec_release(&s->counters.rows);
	index_release(&s->counters.by_wire_id);
	vec_release(&s->labels.runs);
	timelines_release(&s->path.lines);
	vec_release(&s->path.begun);
	pauses_release(&s->pauses);
	vec_release(&s->cpu_changes);
	free(s);
}

static void feed_map(struct session *s, const struct rec_map *rec)
{
	bool is_kernel = rec->rec.flags & MAP_KERNEL_SPACE;
	struct mapping mapping = {
		.start = rec->start,
		.end = rec->end,
		.file_offset = rec->file_offset,
		.module = module_map_find(&s->modules, rec->module_id),
	};

	if (rec->module_id == NO_REC_MODULE && !is_kernel)
		mapping.module = MAPPING_ANON;
	/* Without file and offset, the address identifies the frame. */
	if (mapping.module == NO_MODULE || mapping.module == MAPPING_ANON)
		mapping.file_offset = rec->start;
	if (!is_kernel)
		tasks_map(&s->tasks, &rec->rec, &mapping);
	else if (mapping_table_insert(&s->samples.resolver.kernel, &mapping,
				      s->tasks.last_stamp + 1))
		s->tasks.last_stamp++;
}

static void feed_event_name(struct session *s, const struct rec_event_name *rec)
{
	struct event_count *count = event_counts_get(&s->profile->events, rec->event);
	size_t size = strnlen(rec->name, rec->name_size);

	if (count && rec->event && size)
		count->name = strings_intern_sized(&s->profile->strings, rec->name, size);
}

static void feed_name(struct session *s, const struct rec_name *rec)
{
	tasks_name(&s->tasks, rec);
	if (rec->rec.flags & NAME_NEW_SPACE) {
		process_id process = tasks_process(&s->tasks, &rec->rec);
		uint64_t time = tasks_time(&s->tasks, rec->rec.time);

		vec_push(&s->code.execs, (struct code_exec){.process = process, .time = time});
		alloc_feed_exec(&s->samples.allocs, process, time);
	}
}

static void feed_code(struct session *s, const struct rec_code *rec)
{
	process_id process = tasks_process(&s->tasks, &rec->rec);

	code_table_add(&s->code, process, s->tasks.processes.rows.items[process].space_start, rec);
}

static void feed_cpu(struct session *s, const struct rec_cpu *rec)
{
	struct cpu_change change = {
		.time = tasks_time(&s->tasks, rec->rec.time),
		.cpu = rec->rec.cpu,
		.is_online = rec->rec.flags & CPU_ONLINE,
	};

	s->cpu_change_count++;
	if (s->cpu_changes.count < CPU_CHANGES_MAX)
		vec_push(&s->cpu_changes, change);
}

static void feed_pause(struct session *s, bool is_paused, uint64_t time)
{
	if (!pauses_set(&s->pauses, is_paused, time))
		return;
	if (is_paused)
		waits_pause(&s->samples.waits, time);
	else
		waits_resume(&s->samples.waits, time);
}

static void feed_setting(struct session *s, const struct rec_setting *rec)
{
	if (rec->setting == SETTING_SLOW_NS)
		s->samples.waits.slow_ns = rec->value;
	else if (rec->setting == SETTING_HELD_ONLY)
		s->samples.allocs.held_only = rec->value;
	else if (rec->setting == SETTING_PAUSED)
		feed_pause(s, rec->value, tasks_time(&s->tasks, rec->rec.time));
}

/* Handles records that belong to no task. */
static void feed_machine(struct session *s, const struct rec *rec)
{
	if (rec->kind == REC_CPU)
		feed_cpu(s, (const struct rec_cpu *)rec);
	else
		feed_setting(s, (const struct rec_setting *)rec);
}

static void feed_loss(struct session *s, const struct rec *rec)
{
	uint64_t time = tasks_time(&s->tasks, rec->time);

	/* Their stacks may be in the missing part. */
	if (rec->kind == REC_LOST && ((const struct rec_lost *)rec)->cause == LOST_CAPTURE)
		s->samples.lost_cause = LOST_CAPTURE;
	if (rec->kind == REC_LOST)
		losses_add(&s->losses, (const struct rec_lost *)rec, time);
	else
		losses_throttled(&s->losses, (const struct rec_throttled *)rec, time);
}

static void feed_sample(struct session *s, const struct rec *rec)
{
	if (rec->kind != REC_STACK && pauses_are_on(&s->pauses))
		return;
	if (rec->kind == REC_SAMPLE)
		label_feed_sample(&s->labels, rec);
	sample_feed_record(&s->samples, rec);
}

static void feed_marker(struct session *s, const struct rec_marker *rec)
{
	uint64_t start = tasks_time(&s->tasks, rec->start);

	if (!pauses_hide(&s->pauses, start, tasks_time(&s->tasks, rec->rec.time)))
		marker_feed_marker(&s->markers, rec, sample_feed_marker_stack, &s->samples);
}

/* Handles markers, labels and counters. */
static void feed_shown(struct session *s, const struct rec *rec)
{
	if (rec->kind == REC_SCHEMA)
		marker_feed_schema(&s->markers, (const struct rec_schema *)rec);
	else if (rec->kind == REC_MARKER)
		feed_marker(s, (const struct rec_marker *)rec);
	else if (rec->kind == REC_LABELS)
		label_feed_labels(&s->labels, (const struct rec_labels *)rec);
	else if (rec->kind == REC_COUNTER_INFO)
		counter_feed_info(&s->counters, (const struct rec_counter_info *)rec);
	else
		counter_feed_count(&s->counters, (const struct rec_counter *)rec);
}

/* True for a program's own reports, which come late; a schema only has to precede its markers. */
static bool may_be_late(const struct rec *rec)
{
	return rec->kind == REC_SCHEMA || (rec->kind == REC_MARKER && rec->flags & MARKER_TOLD);
}

static void note_time(struct session *s, const struct rec *rec)
{
	if (rec->time >= s->last_time)
		s->last_time = rec->time;
	else if (!may_be_late(rec))
		s->profile->stats.late_records++;
}

void session_feed(struct session *s, const struct rec *rec)
{
	note_time(s, rec);
	session_feed_state(s, rec);
	path_feed_record(&s->path, rec);
	reclaim_step(&s->reclaim);
}

/* Handles records of processes, which also concern their children. */
static void feed_process(struct session *s, const struct rec *rec)
{
	if (rec->kind == REC_CONTAINER)
		tasks_set_container(&s->tasks, (const struct rec_container *)rec);
	else if (rec->kind == REC_RESOURCE)
		tasks_set_resource(&s->tasks, (const struct rec_resource *)rec);
	else
		tasks_user(&s->tasks, (const struct rec_user *)rec);
}

void session_feed_state(struct session *s, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_STACK:
	case REC_EVENT:
	case REC_WAIT:
	case REC_RUN:
	case REC_ALLOC:
		feed_sample(s, rec);
		break;
	case REC_FREE:
		alloc_feed_free(&s->samples.allocs, (const struct rec_free *)rec);
		break;
	case REC_FORK:
		tasks_fork(&s->tasks, (const struct rec_fork *)rec);
		break;
	case REC_NAME:
		feed_name(s, (const struct rec_name *)rec);
		break;
	case REC_THREAD_NAME:
		tasks_give_name(&s->tasks, (const struct rec_thread_name *)rec);
		break;
	case REC_EXIT:
		sample_feed_exit(&s->samples, tasks_exit(&s->tasks, (const struct rec_exit *)rec),
				 (const struct rec_exit *)rec);
		break;
	case REC_ARGUMENTS:
		arguments_enter(&s->tasks, (const struct rec_arguments *)rec);
		break;
	case REC_CONTAINER:
	case REC_RESOURCE:
	case REC_USER:
		feed_process(s, rec);
		break;
	case REC_MAP:
		feed_map(s, (const struct rec_map *)rec);
		break;
	case REC_MODULE:
		module_map_add(&s->modules, (const struct rec_module *)rec);
		break;
	case REC_SECTION:
		module_map_add_section(&s->modules, (const struct rec_section *)rec);
		break;
	case REC_SYMBOL:
		module_map_add_symbol(&s->modules, (const struct rec_symbol *)rec);
		break;
	case REC_LOST:
	case REC_THROTTLED:
		feed_loss(s, rec);
		break;
	case REC_EVENT_NAME:
		feed_event_name(s, (const struct rec_event_name *)rec);
		break;
	case REC_CODE:
		feed_code(s, (const struct rec_code *)rec);
		break;
	case REC_SCHEMA:
	case REC_MARKER:
	case REC_COUNTER_INFO:
	case REC_COUNTER:
	case REC_LABELS:
		feed_shown(s, rec);
		break;
	case REC_SETTING:
	case REC_CPU:
		feed_machine(s, rec);
		break;
	}
}

static void finish_cpu_changes(struct session *s)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (!s->cpu_change_count)
		return;
	vec_for_each(&s->cpu_changes, const struct cpu_change *, change) {
		double seconds = (double)(change->time - s->profile->meta.start_ns) / 1e9;

		strbuf_addf(&text, "%sCPU %u %s at %.3f s", text.size ? ", " : "", change->cpu,
			    change->is_online ? "online" : "offline", seconds);
	}
	if (s->cpu_change_count > s->cpu_changes.count)
		strbuf_addf(&text, " and %" PRIu64 " more",
			    s->cpu_change_count - s->cpu_changes.count);
	profile_add_text(s->profile, FACT_CPU_CHANGES, NULL, strbuf_text(&text));
}

void session_begin_epoch(struct session *s, uint64_t time_ns)
{
	if (time_ns - s->epoch_ns < EPOCH_MIN_NS)
		return;
	sample_feed_forget(&s->samples, s->epoch_ns);
	s->epoch_ns = time_ns;
}

void session_finish(struct session *s, uint64_t end_ns)
{
	if (!s->profile->meta.end_ns)
		s->profile->meta.end_ns = end_ns;
	label_feed_finish(&s->labels);
	sample_feed_finish(&s->samples, s->profile->meta.end_ns);
	tasks_finish(&s->tasks);
	thread_table_finish(&s->tasks.threads);
	life_markers_children(&s->tasks, s->profile->meta.end_ns);
	module_users_find(&s->tasks);
	probe_spans_join(s->profile);
	marker_feed_limit(&s->markers);
	/* Add path markers last: they form a whole, of which none may be left out. */
	path_feed_finish(&s->path);
	long_tasks_set_causes(s->profile);
	span_frames_finish(s->profile);
	tasks_drop_unwanted(&s->tasks);
	/* Requires all samples to be in the profile. */
	code_frames_name(s->profile, &s->code, &s->tasks.processes);
	marker_feed_finish(&s->markers);
	reclaim_finish(&s->reclaim);
	pauses_finish(&s->pauses, s->profile, s->profile->meta.end_ns);
	losses_finish(&s->losses);
	finish_cpu_changes(s);
}

struct timelines session_take_timelines(struct session *s)
{
	struct timelines lines = s->path.lines;

	timelines_init(&s->path.lines);
	return lines;
}

void session_advance(struct session *s, uint64_t until_ns)
{
	waits_advance(&s->samples.waits, until_ns);
	tasks_name_rows(&s->tasks);
}

void session_drop_rows(struct session *s)
{
	vec_for_each(&s->profile->threads.rows, struct profile_thread *, row) {
		samples_release(&row->samples);
		vec_release(&row->markers);
	}
}

bool session_wants_thread(struct session *s, thread_id id)
{
	return process_is_wanted(tasks_process_of(&s->tasks, id));
}

void session_name_code(struct session *s, struct profile *p)
{
	code_frames_name(p, &s->code, &s->tasks.processes);
}

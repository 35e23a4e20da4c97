/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/thread.h"

#include <assert.h>

#include "lib/model/meaning/recording_markers.h"

/* Further pauses get no markers. */
#define MARKERS_MAX 10000
#define NS_PER_MS 1000000

void pauses_release(struct pauses *p)
{
	vec_release(&p->rows);
}

bool pauses_are_on(const struct pauses *p)
{
	return p->rows.count && vec_last(&p->rows).end == UINT64_MAX;
}

bool pauses_set(struct pauses *p, bool is_paused, uint64_t time)
{
	if (is_paused == pauses_are_on(p))
		return false;
	if (is_paused)
		vec_push(&p->rows, ((struct pause){time, UINT64_MAX}));
	else
		vec_last(&p->rows).end = time;
	return true;
}

uint64_t pauses_resumed(const struct pauses *p)
{
	size_t count = p->rows.count - pauses_are_on(p);

	return count ? p->rows.items[count - 1].end : 0;
}

/* Returns the position of the first pause that ends after that time, or their number. */
static size_t find(const struct pauses *p, uint64_t time)
{
	size_t low = 0, high = p->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->rows.items[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool pauses_hide(const struct pauses *p, uint64_t start, uint64_t end)
{
	size_t at = find(p, start);

	return at < p->rows.count && p->rows.items[at].start <= start &&
	       end <= p->rows.items[at].end;
}

void pauses_finish(struct pauses *p, struct profile *profile, uint64_t end)
{
	if (!p->rows.count)
		return;
	pauses_set(p, false, end);
	for (size_t i = 0; i < p->rows.count; i++) {
		const struct pause *row = &p->rows.items[i];

		profile->stats.paused_ns += row->end - row->start;
		if (i < MARKERS_MAX)
			pause_marker_add(profile, row->start, row->end);
	}
	profile->stats.pauses = p->rows.count;
	profile_add_count(profile, FACT_PAUSES, NULL, p->rows.count);
	profile_add_count(profile, FACT_PAUSED, NULL, profile->stats.paused_ns / NS_PER_MS);
}

/* Returns ns from a to b; 0 if the clock went back. */
static uint64_t used_between(uint32_t a, uint32_t b)
{
	int32_t units = (int32_t)(b - a);

	return units > 0 ? (uint64_t)units << 4 : 0;
}

void cpu_clock_begin(struct cpu_clock *c, uint64_t time)
{
	struct cpu_reading begin = {.time = time};

	if (!c->is_known)
		c->last = begin;
	else
		c->used_ns += used_between(0, c->first.cpu);
	c->first = begin;
	c->is_known = true;
}

/* Adjusts the base so that the next value, `wire`, means at most `max_ns` since the last one. */
static void cpu_clock_limit(struct cpu_clock *c, uint32_t wire, uint64_t max_ns)
{
	uint64_t used = used_between(c->last.cpu, wire - c->base);

	if (c->is_known && !c->is_replaced && used > max_ns)
		c->base += (uint32_t)((used - max_ns) >> 4);
}

uint32_t cpu_clock_read(struct cpu_clock *c, uint64_t time, uint32_t wire)
{
	struct cpu_reading reading = {time, wire - c->base};

	if (c->is_replaced) {
		c->base = wire - c->last.cpu;
		c->is_replaced = false;
		reading.cpu = c->last.cpu;
	}
	if (!c->is_known) {
		c->first = c->last = reading;
		c->is_known = true;
	} else if (time >= c->last.time) {
		c->used_ns += used_between(c->last.cpu, reading.cpu);
		if ((int32_t)(reading.cpu - c->last.cpu) >= 0)
			c->last = reading;
	} else if (time < c->first.time) {
		c->used_ns += used_between(reading.cpu, c->first.cpu);
		c->first = reading;
	}
	return reading.cpu;
}

/* Stores the time of the first row with a reading; false if there is none. */
static bool first_reading(const struct profile_thread *row, uint64_t *time)
{
	samples_for_each(&row->samples, sample) {
		*time = sample->time;
		if (!sample->event)
			return true;
	}
	return false;
}

/* Returns the latest reading in a row, or `first` if there is none. */
static uint32_t latest_in_rows(const struct profile_thread *row, uint32_t first)
{
	uint32_t latest = first;

	samples_for_each(&row->samples, sample) {
		if (!sample->event && used_between(latest, sample->cpu_delta))
			latest = sample->cpu_delta;
	}
	return latest;
}

static void add_edge(struct profile_thread *row, uint64_t time, uint32_t cpu)
{
	struct sample edge = {
		.time = time,
		.stack = NO_STACK,
		.cpu_delta = cpu,
		.cpu = NO_CPU,
	};

	samples_add(&row->samples, &edge);
}

/*
 * True if the thread had used CPU time before its first row. The kernel updates its count only now
 * and then, so later readings are considered as well: CPU time cannot exceed the time passed.
 */
static bool had_run(const struct cpu_clock *c, const struct profile_thread *row)
{
	uint64_t used = used_between(c->first.cpu, c->last.cpu), time = c->last.time;

	samples_for_each_back(&row->samples, sample) {
		uint64_t known = used_between(c->first.cpu, sample->cpu_delta);
		uint64_t passed = time > sample->time ? time - sample->time : 0;

		if (sample->event)
			continue;
		used = used > passed ? used - passed : 0;
		used = MAX(used, known);
		time = sample->time;
	}
	return used;
}

static void add_edges(const struct cpu_clock *c, struct profile_thread *row)
{
	uint64_t first_time;
	bool has_reading = first_reading(row, &first_time);
	bool is_late = has_reading && c->first.time < first_time && had_run(c, row);
	bool is_early = used_between(latest_in_rows(row, c->first.cpu), c->last.cpu);

	if (is_late || (!has_reading && is_early))
		add_edge(row, row->start, c->first.cpu);
	if (is_early)
		add_edge(row, c->last.time > row->start ? c->last.time : row->start, c->last.cpu);
}

/*
 * Converts the readings in cpu_delta, whose rows are in order of time, into differences of at most
 * the time passed. Adds rows without stack and weight for CPU time before the first row and after
 * the last one, so that the sum is all time between the clock's readings.
 */
static void cpu_clock_settle(const struct cpu_clock *c, struct profile_thread *row)
{
	uint32_t last = c->first.cpu;
	bool is_first = true;

	if (!c->is_known)
		return;
	add_edges(c, row);
	samples_change_each(&row->samples, sample) {
		uint64_t used = used_between(last, sample->cpu_delta);

		if (sample->event)
			continue;
		if ((int32_t)(sample->cpu_delta - last) > 0)
			last = sample->cpu_delta;
		/* The time before the first row is unknown. */
		sample->cpu_delta = is_first ? 0 : used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
		is_first = false;
	}
	samples_settle_cpu_deltas(&row->samples);
}

struct thread_key {
	process_id process;
	uint32_t tid;
};

void thread_table_init(struct thread_table *t, struct threads *profile)
{
	assert(!profile->rows.count);
	*t = (struct thread_table){.profile = profile};
}

/* Maximum number of former names; further ones are not counted. */
#define FORMER_NAMES_MAX 16

struct former_name {
	string_id name;
	uint64_t used_ns;
};

struct former_names {
	VEC(struct former_name) rows;
	uint64_t sum_ns; /* CPU time until the last change of the name */
};

static void former_names_free(struct former_names *names)
{
	if (names)
		vec_release(&names->rows);
	free(names);
}

void thread_table_release(struct thread_table *t)
{
	vec_for_each(&t->rows, struct thread *, thread)
		former_names_free(thread->names);
	vec_release(&t->rows);
	index_release(&t->by_tid);
}

static bool tid_equal(const void *table, uint32_t id, const void *key)
{
	const struct thread *thread = &((const struct thread_table *)table)->rows.items[id];
	const struct thread_key *wanted = key;

	return thread->process == wanted->process && thread->tid == wanted->tid;
}

static uint64_t tid_hash(process_id process, uint32_t tid)
{
	return hash_u64((uint64_t)process << 32 | tid);
}

thread_id thread_table_find(const struct thread_table *t, process_id process, uint32_t tid)
{
	const struct thread_key key = {process, tid};

	return index_find(&t->by_tid, tid_hash(process, tid), tid_equal, t, &key);
}

thread_id thread_table_add(struct thread_table *t, struct process_table *processes,
			   process_id process, uint32_t tid, uint64_t start,
			   enum task_origin origin)
{
	thread_id before = thread_table_find(t, process, tid);
	struct process *owner = &processes->rows.items[process];
	struct profile_thread row = {
		.pid = owner->pid,
		.tid = tid,
		.incarnation = owner->incarnation,
		.name = NO_STRING,
		.process_name = NO_STRING,
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.start = start,
		.is_main = tid == owner->pid,
	};
	struct thread thread = {
		.process = process,
		.tid = tid,
		.next = owner->last_thread,
		.open_waits = NO_WAIT,
		.last_cpu = NO_CPU,
		.origin = (uint8_t)origin,
	};
	thread_id id = threads_add(t->profile, &row);

	if (origin == TASK_FORKED)
		cpu_clock_begin(&thread.cpu, start);
	vec_push(&t->rows, thread);
	if (before != NO_THREAD)
		index_remove(&t->by_tid, tid_hash(process, tid), before);
	index_add(&t->by_tid, tid_hash(process, tid), id);
	owner->last_thread = id;
	if (row.is_main)
		owner->main_thread = id;
	return id;
}

void thread_end(struct thread_table *t, thread_id id, uint64_t time)
{
	struct profile_thread *row = threads_get(t->profile, id);
	struct thread *thread = &t->rows.items[id];

	thread->has_ended = true;
	row->end = time > row->start ? time : row->start;
	row->end = MAX(row->end, thread->seen);
	samples_close(&row->samples);
	vec_fit(&threads_get(t->profile, id)->markers);
}

void thread_seen(struct thread_table *t, thread_id id, uint64_t time)
{
	struct profile_thread *row = threads_get(t->profile, id);
	struct thread *thread = &t->rows.items[id];

	row->start = MIN(row->start, time);
	thread->seen = MAX(thread->seen, time);
	if (thread->has_ended && time > row->end)
		row->end = time;
}

uint32_t thread_read_cpu(struct thread_table *t, thread_id id, uint64_t time, uint32_t cpu_time)
{
	struct cpu_clock *clock = &t->rows.items[id].cpu;
	uint64_t resumed = pauses_are_on(t->pauses) ? time : pauses_resumed(t->pauses);

	/*
	 * Leaves out the CPU time of a pause, including the short time between the last reading and
	 * the pause.
	 */
	if (resumed > clock->last.time)
		cpu_clock_limit(clock, cpu_time, time > resumed ? time - resumed : 0);
	return cpu_clock_read(clock, time, cpu_time);
}

void thread_leave_name(struct thread_table *t, thread_id id)
{
	struct thread *thread = &t->rows.items[id];
	string_id name = threads_get(t->profile, id)->name;
	struct former_name *found = NULL;
	uint64_t used;

	if (!thread->names)
		thread->names = xcalloc(1, sizeof(*thread->names));
	/* A reading from before the first one may have changed the sum. */
	used = thread->cpu.used_ns > thread->names->sum_ns
		       ? thread->cpu.used_ns - thread->names->sum_ns
		       : 0;
	thread->names->sum_ns += used;
	vec_for_each(&thread->names->rows, struct former_name *, row) {
		if (row->name == name)
			found = row;
	}
	if (found)
		found->used_ns += used;
	else if (name != NO_STRING && thread->names->rows.count < FORMER_NAMES_MAX)
		vec_push(&thread->names->rows, (struct former_name){name, used});
}

static void choose_name(struct thread_table *t, thread_id id)
{
	const struct former_name *best = NULL;

	/* The time since the last change counts for the last name. */
	thread_leave_name(t, id);
	vec_for_each(&t->rows.items[id].names->rows, const struct former_name *, row) {
		if (!best || row->used_ns > best->used_ns)
			best = row;
	}
	if (best && best->used_ns)
		threads_get(t->profile, id)->name = best->name;
}

void thread_table_finish(struct thread_table *t)
{
	for (thread_id id = 0; id < t->rows.count; id++) {
		if (t->rows.items[id].names)
			choose_name(t, id);
		cpu_clock_settle(&t->rows.items[id].cpu, threads_get(t->profile, id));
	}
}

void thread_add_marker(struct thread_table *t, thread_id id, const struct marker *marker)
{
	struct profile_thread *row = threads_get(t->profile, id);

	vec_push(&row->markers, *marker);
}

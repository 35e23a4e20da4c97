/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/thread.h"

#include <assert.h>

struct thread_key {
	process_id process;
	uint32_t tid;
};

void thread_table_init(struct thread_table *t, struct threads *profile)
{
	assert(!profile->rows.count);
	*t = (struct thread_table){.profile = profile};
}

void thread_table_release(struct thread_table *t)
{
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
	if (thread->seen > row->end)
		row->end = thread->seen;
	samples_close(&row->samples);
	thread_fit(t, id);
}

void thread_fit(struct thread_table *t, thread_id id)
{
	vec_fit(&threads_get(t->profile, id)->markers);
}

void thread_seen(struct thread_table *t, thread_id id, uint64_t time)
{
	struct profile_thread *row = threads_get(t->profile, id);
	struct thread *thread = &t->rows.items[id];

	if (time < row->start)
		row->start = time;
	if (time > thread->seen)
		thread->seen = time;
	if (thread->has_ended && time > row->end)
		row->end = time;
}

uint32_t thread_read_cpu(struct thread_table *t, thread_id id, uint64_t time, uint32_t cpu_time)
{
	struct cpu_clock *clock = &t->rows.items[id].cpu;
	uint64_t resumed = pauses_are_on(t->pauses) ? time : pauses_resumed(t->pauses);

	/* Leaves out CPU time of a pause, with the little after the reading before it. */
	if (resumed > clock->last.time)
		cpu_clock_limit(clock, cpu_time, time > resumed ? time - resumed : 0);
	return cpu_clock_read(clock, time, cpu_time);
}

void thread_table_finish(struct thread_table *t)
{
	for (thread_id id = 0; id < t->rows.count; id++)
		cpu_clock_settle(&t->rows.items[id].cpu, threads_get(t->profile, id));
}

void thread_add_sample(struct thread_table *t, thread_id id, const struct sample *sample)
{
	samples_add(&threads_get(t->profile, id)->samples, sample);
}

void thread_add_marker(struct thread_table *t, thread_id id, const struct marker *marker)
{
	struct profile_thread *row = threads_get(t->profile, id);

	vec_push(&row->markers, *marker);
}

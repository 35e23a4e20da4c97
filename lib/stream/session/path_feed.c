/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/path_feed.h"

#include "lib/path/path_markers.h"
#include "lib/stream/record/records.h"

void path_feed_init(struct path_feed *f, struct tasks *tasks, struct waits *waits)
{
	*f = (struct path_feed){.tasks = tasks, .waits = waits};
	timelines_init(&f->lines);
}

void path_feed_release(struct path_feed *f)
{
	timelines_release(&f->lines);
	vec_release(&f->begun);
}

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

void path_feed_record(struct path_feed *f, const struct rec *rec)
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

void path_feed_finish(struct path_feed *f)
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

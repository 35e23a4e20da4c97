/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/tasks.h"

#include "lib/base/quote.h"
#include "lib/stream/process/mapping.h"
#include "lib/stream/process/resource.h"

/* Names of threads and of their processes, as records give them. NO_STRING is ignored. */

static struct process *process_at(struct tasks *t, process_id id)
{
	return &t->processes.rows.items[id];
}

/* Returns NO_STRING for an empty name. Only short names are NUL-terminated on the wire. */
static string_id task_name_intern(struct tasks *t, const char *name)
{
	size_t size = strnlen(name, REC_NAME_SIZE);

	return size ? strings_intern_sized(&t->profile->strings, name, size) : NO_STRING;
}

static void task_name_set_process(struct tasks *t, process_id process, string_id name)
{
	if (name != NO_STRING)
		process_at(t, process)->name = name;
}

/* Names a thread; if it is the main thread, also its process. */
static void task_name_set(struct tasks *t, process_id process, thread_id thread, string_id name)
{
	if (name == NO_STRING)
		return;
	threads_get(&t->profile->threads, thread)->name = name;
	/* A process has its main thread's name, as in ps. */
	if (thread == process_at(t, process)->main_thread)
		task_name_set_process(t, process, name);
}

/* Does the same for a thread that renames itself: its process may keep its name. */
static void task_name_change(struct tasks *t, process_id id, thread_id thread, string_id name)
{
	const struct strings *strings = &t->profile->strings;
	const struct process *process = process_at(t, id);
	/*
	 * Without an exec, as for kernel threads, only the name distinguishes it from its parent.
	 */
	string_id before = process->is_forked ? NO_STRING : process->name;

	if (thread != process->main_thread)
		thread_leave_name(&t->threads, thread);
	task_name_set(t, id, thread, name);
	if (before != NO_STRING &&
	    !process_name_fits(strings_get(strings, name), strings_get(strings, before), "", 0))
		task_name_set_process(t, id, before);
}

/* A thread inherits the name of the thread that forks it, a process its parent's. */
static void task_name_fork(struct tasks *t, process_id id, string_id name)
{
	const struct process *process = process_at(t, id);

	task_name_set(t, id, process->main_thread, name);
	if (process->parent_thread != NO_THREAD &&
	    threads_get(&t->profile->threads, process->parent_thread)->name == name)
		task_name_set_process(t, id, process_at(t, process->parent)->name);
}

/* Records are late by milliseconds, and by seconds if the recorder lags. */
#define LATE_NS 30000000000u

void ended_spaces_release(struct ended_spaces *e)
{
	if (e->none)
		mapping_table_drop(e->none);
	vec_release(&e->rows);
}

static void drop(struct ended_spaces *e, struct process *process)
{
	if (!e->none)
		e->none = mapping_table_new();
	mapping_table_drop(process->mappings);
	process->mappings = mapping_table_hold(e->none);
	if (process->replaced)
		mapping_table_drop(process->replaced);
	process->replaced = NULL;
}

void ended_spaces_add(struct ended_spaces *e, struct process_table *t, process_id process)
{
	uint64_t now = t->rows.items[process].end;

	vec_push(&e->rows, (struct ended_space){process, now});
	while (e->first < e->rows.count && e->rows.items[e->first].end + LATE_NS < now)
		drop(e, &t->rows.items[e->rows.items[e->first++].process]);
	if (e->first <= e->rows.count / 2)
		return;
	e->rows.count -= e->first;
	memmove(e->rows.items, e->rows.items + e->first, e->rows.count * sizeof(*e->rows.items));
	e->first = 0;
}

/* Length to which container engines shorten ids. */
#define SHORT_ID_SIZE 12

string_id container_label(struct strings *strings, string_id cgroup, string_id container,
			  uint32_t ns_pid)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};
	size_t size = cgroup == NO_STRING ? 0 : strings_size(strings, cgroup);
	const char *name = size ? strings_get(strings, cgroup) : "";
	const char *id = cgroup_container_id(name, size);

	if (container != NO_STRING) {
		name = strings_get(strings, container);
		size = strings_size(strings, container);
	} else if (id) {
		name = id;
		size = SHORT_ID_SIZE;
	} else {
		name = cgroup_leaf(name, &size);
	}
	if (ns_pid)
		strbuf_addf(&label, "pid %u%s", ns_pid, size ? " in " : "");
	strbuf_add(&label, name, size);
	return label.size ? strings_intern_sized(strings, label.text, label.size) : NO_STRING;
}

static void tasks_add_marker(struct tasks *t, thread_id id, enum marker_id kind, uint64_t time,
			     string_id name);

/* Stores the whole path; the process's name shows only its end. */
static void set_container(struct tasks *t, const struct process *process)
{
	if (process->cgroup != NO_STRING)
		tasks_add_marker(t, process->main_thread, MARKER_CGROUP, process->start,
				 process->cgroup);
	if (process->resource != NO_STRING)
		tasks_add_marker(t, process->main_thread, MARKER_RESOURCE, process->start,
				 process->resource);
}

void tasks_name_rows(struct tasks *t)
{
	string_id unknown = NO_STRING;

	vec_for_each(&t->profile->threads.rows, struct profile_thread *, row) {
		thread_id id = (thread_id)(row - t->profile->threads.rows.items);
		const struct process *process = tasks_process_of(t, id);

		row->process_name = process->name;
		row->process_label = container_label(&t->profile->strings, process->cgroup,
						     process->container, process->ns_pid);
		row->arguments = process->arguments;
		row->process_start = process->start;
		row->process_end = process->has_ended ? process->end : 0;
		if (row->process_name == NO_STRING) {
			if (unknown == NO_STRING)
				unknown = strings_intern(&t->profile->strings, "[unknown]");
			row->process_name = unknown;
		}
		if (row->name == NO_STRING)
			row->name = row->process_name;
		if (!t->threads.rows.items[id].has_ended)
			row->end = 0;
	}
}

void tasks_finish(struct tasks *t)
{
	vec_for_each(&t->processes.rows, struct process *, process)
		set_container(t, process);
	tasks_name_rows(t);
}

void tasks_drop_unwanted(struct tasks *t)
{
	struct threads *threads = &t->profile->threads;
	size_t kept = 0;

	for (size_t i = 0; i < threads->rows.count; i++) {
		struct profile_thread *row = &threads->rows.items[i];
		const struct process *process = tasks_process_of(t, (thread_id)i);

		if (process_is_wanted(process)) {
			threads->rows.items[kept++] = *row;
			continue;
		}
		samples_release(&row->samples);
		vec_release(&row->markers);
		vec_release(&row->allocations.rows);
	}
	threads->rows.count = kept;
}

void tasks_init(struct tasks *t, struct profile *profile)
{
	*t = (struct tasks){.profile = profile};
	thread_table_init(&t->threads, &profile->threads);
}

void tasks_release(struct tasks *t)
{
	process_table_release(&t->processes);
	ended_spaces_release(&t->ended);
	thread_table_release(&t->threads);
}

static struct profile_thread *row_at(struct tasks *t, thread_id id)
{
	return threads_get(&t->profile->threads, id);
}

/* Also adds the main thread: all of the leader's own records may have been lost. */
static process_id add_process(struct tasks *t, uint32_t pid, uint64_t start,
			      enum task_origin origin, struct mapping_table *mappings)
{
	process_id id = process_table_add(&t->processes, pid, start, origin, mappings);

	thread_table_add(&t->threads, &t->processes, id, pid, start, origin);
	return id;
}

/* Returns the latest process with that pid, dead or alive. */
static process_id get_process(struct tasks *t, uint32_t pid, uint64_t time)
{
	process_id id = process_table_find(&t->processes, pid);

	if (id == NO_PROCESS)
		id = add_process(t, pid, time, TASK_SEEN, mapping_table_new());
	return id;
}

/*
 * For records of live processes from the kernel: if the latest process with that pid has ended,
 * adds a newer one, whose fork record was lost.
 */
static process_id get_live_process(struct tasks *t, uint32_t pid, uint64_t time)
{
	process_id id = get_process(t, pid, time);

	if (process_at(t, id)->has_ended)
		id = add_process(t, pid, time, TASK_SEEN, mapping_table_new());
	return id;
}

static thread_id get_thread(struct tasks *t, process_id process, uint32_t tid, uint64_t time)
{
	thread_id id = thread_table_find(&t->threads, process, tid);

	if (id == NO_THREAD)
		id = thread_table_add(&t->threads, &t->processes, process, tid, time, TASK_SEEN);
	return id;
}

/* Ends all live threads except `spared`. */
static void end_threads(struct tasks *t, process_id process, uint64_t time, thread_id spared)
{
	thread_id id = process_at(t, process)->last_thread;

	for (; id != NO_THREAD; id = t->threads.rows.items[id].next) {
		if (id != spared && !t->threads.rows.items[id].has_ended)
			thread_end(&t->threads, id, time);
	}
}

static void end_process(struct tasks *t, process_id id, uint64_t time)
{
	struct process *process = process_at(t, id);
	thread_id thread = process->last_thread;

	end_threads(t, id, time, NO_THREAD);
	process->has_ended = true;
	process->end = time > process->start ? time : process->start;
	for (; thread != NO_THREAD; thread = t->threads.rows.items[thread].next) {
		if (row_at(t, thread)->end > process->end)
			process->end = row_at(t, thread)->end;
	}
	ended_spaces_add(&t->ended, &t->processes, id);
}

/* Adds a marker whose only value is a name, in the first field. */
static void tasks_add_marker(struct tasks *t, thread_id id, enum marker_id kind, uint64_t time,
			     string_id name)
{
	struct marker marker = markers_make(&t->profile->markers, kind, time, time);

	*marker_value(&t->profile->markers, &marker, 0) = marker_string(name);
	thread_add_marker(&t->threads, id, &marker);
}

/*
 * True if the task is known only by actions after this fork: then the fork record came late, and
 * introduces this task rather than a later one with the same number.
 */
static bool is_late_introduction(uint8_t origin, uint64_t start, uint64_t fork_time)
{
	return origin == TASK_SEEN && fork_time <= start;
}

static void fork_thread(struct tasks *t, const struct rec_fork *fork, uint64_t time, string_id name)
{
	process_id process = get_live_process(t, fork->rec.pid, time);
	thread_id id = thread_table_find(&t->threads, process, fork->rec.tid);

	/* A thread's fork does not create a leader; it must not add a second main thread. */
	if (fork->rec.tid == fork->rec.pid)
		return;
	if (id != NO_THREAD &&
	    is_late_introduction(t->threads.rows.items[id].origin, row_at(t, id)->start, time)) {
		t->threads.rows.items[id].origin = TASK_FORKED;
		row_at(t, id)->start = time;
		cpu_clock_begin(&t->threads.rows.items[id].cpu, time);
		if (row_at(t, id)->name == NO_STRING)
			row_at(t, id)->name = name;
		return;
	}
	if (id != NO_THREAD && !t->threads.rows.items[id].has_ended)
		thread_end(&t->threads, id, time);
	id = thread_table_add(&t->threads, &t->processes, process, fork->rec.tid, time,
			      TASK_FORKED);
	row_at(t, id)->name = name;
}

/*
 * Shares the parent's mappings until either process changes them. Anonymous memory is a module of
 * its own in each process, so mappings that contain any get a new stamp: the parent's resolved
 * stacks do not apply to the child.
 */
static struct mapping_table *inherit_mappings(struct tasks *t, uint32_t parent_pid)
{
	process_id parent = process_table_find(&t->processes, parent_pid);
	struct mapping_table *mappings;

	if (parent == NO_PROCESS)
		return mapping_table_new();
	mappings = process_at(t, parent)->mappings;
	if (mappings->has_anon)
		return mapping_table_copy(mappings, ++t->last_stamp);
	return mapping_table_hold(mappings);
}

/* Copies container, user and program of the parent, until a record says otherwise. */
static void inherit_container(struct tasks *t, process_id id, const struct rec_fork *fork)
{
	process_id parent_id = process_table_find(&t->processes, fork->parent_pid);
	struct process *process = process_at(t, id);
	const struct process *parent;

	process->ns_pid = fork->ns_pid;
	if (parent_id == NO_PROCESS)
		return;
	parent = process_at(t, parent_id);
	process->first_user = parent->users.count ? vec_last(&parent->users).user
						  : parent->first_user;
	process_inherit(process, parent);
}

static void set_parent(struct tasks *t, struct process *process, const struct rec_fork *fork)
{
	process_id parent = process_table_find(&t->processes, fork->parent_pid);

	process->parent = parent;
	if (parent != NO_PROCESS)
		process->parent_thread = thread_table_find(&t->threads, parent, fork->parent_tid);
}

static void introduce_late(struct tasks *t, process_id id, const struct rec_fork *fork,
			   uint64_t time, string_id name)
{
	struct process *process = process_at(t, id);

	process->origin = TASK_FORKED;
	process->start = time;
	set_parent(t, process, fork);
	t->threads.rows.items[process->main_thread].origin = TASK_FORKED;
	row_at(t, process->main_thread)->start = time;
	cpu_clock_begin(&t->threads.rows.items[process->main_thread].cpu, time);
	inherit_container(t, id, fork);
	if (process->name == NO_STRING)
		task_name_fork(t, id, name);
	if (!process->mappings->stamp) {
		mapping_table_drop(process->mappings);
		process->mappings = inherit_mappings(t, fork->parent_pid);
	}
}

static void fork_process(struct tasks *t, const struct rec_fork *fork, uint64_t time,
			 string_id name)
{
	process_id id = process_table_find(&t->processes, fork->rec.pid);
	struct mapping_table *mappings;

	if (id != NO_PROCESS &&
	    is_late_introduction(process_at(t, id)->origin, process_at(t, id)->start, time)) {
		introduce_late(t, id, fork, time, name);
		return;
	}
	mappings = inherit_mappings(t, fork->parent_pid);
	if (id != NO_PROCESS && !process_at(t, id)->has_ended)
		end_process(t, id, time);
	id = add_process(t, fork->rec.pid, time, TASK_FORKED, mappings);
	process_at(t, id)->is_forked = true;
	set_parent(t, process_at(t, id), fork);
	inherit_container(t, id, fork);
	task_name_fork(t, id, name);
}

/* Notes the filters' verdict in a record of a task's life. */
static void note_filters(struct tasks *t, const struct rec *rec)
{
	process_id id = process_table_find(&t->processes, rec->pid);

	if (id == NO_PROCESS)
		return;
	if (rec->flags & REC_OUTSIDE) {
		process_at(t, id)->was_outside = true;
		return;
	}
	process_at(t, id)->was_wanted = true;
	if (!(rec->flags & REC_UNSAMPLED))
		t->profile->stats.wanted_threads++;
}

static thread_id find_thread(const struct tasks *t, const struct rec *rec)
{
	process_id process = process_table_find(&t->processes, rec->pid);

	return process == NO_PROCESS ? NO_THREAD
				     : thread_table_find(&t->threads, process, rec->tid);
}

/* True if the fork record repeats a known task; sets the task's current name. */
static bool is_repeated(struct tasks *t, const struct rec_fork *fork, uint64_t time, string_id name)
{
	thread_id id = fork->rec.flags & FORK_RUNNING ? find_thread(t, &fork->rec) : NO_THREAD;

	if (id == NO_THREAD || t->threads.rows.items[id].has_ended || row_at(t, id)->start != time)
		return false;
	task_name_set(t, t->threads.rows.items[id].process, id, name);
	return true;
}

void tasks_fork(struct tasks *t, const struct rec_fork *fork)
{
	uint64_t time = tasks_time(t, fork->rec.time);
	string_id name = task_name_intern(t, fork->name);
	bool is_known = is_repeated(t, fork, time, name);
	thread_id thread;

	if (is_known)
		; /* unchanged */
	else if (fork->rec.pid == fork->parent_pid)
		fork_thread(t, fork, time, name);
	else
		fork_process(t, fork, time, name);
	/* The CPU time used so far is unknown. A damaged record may name no thread. */
	thread = is_known ? NO_THREAD : find_thread(t, &fork->rec);
	if (thread != NO_THREAD && fork->rec.flags & FORK_RUNNING)
		t->threads.rows.items[thread].cpu = (struct cpu_clock){0};
	note_filters(t, &fork->rec);
}

static void new_space(struct tasks *t, uint32_t pid, uint64_t time)
{
	struct process *process = process_at(t, get_live_process(t, pid, time));

	if (process->replaced)
		mapping_table_drop(process->replaced);
	process->replaced = process->mappings;
	process->mappings = mapping_table_new();
	process->space_start = time;
	process->is_forked = false;
}

/* Moves the start of the task to that of the recording, unless its fork was recorded. */
static void scanned(struct tasks *t, process_id process, thread_id thread)
{
	thread_id main_thread = process_at(t, process)->main_thread;
	uint64_t start = t->profile->meta.start_ns;

	if (process_at(t, process)->origin == TASK_SEEN) {
		process_at(t, process)->origin = TASK_SCANNED;
		process_at(t, process)->start = start;
		t->threads.rows.items[main_thread].origin = TASK_SCANNED;
		row_at(t, main_thread)->start = start;
	}
	if (t->threads.rows.items[thread].origin == TASK_SEEN) {
		t->threads.rows.items[thread].origin = TASK_SCANNED;
		row_at(t, thread)->start = process_at(t, process)->start;
	}
}

/* Drops the rename that the kernel reports as a part of an exec. */
static void drop_rename_by_exec(struct tasks *t, struct profile_thread *row, string_id name)
{
	const struct marker *last = row->markers.count ? &vec_last(&row->markers) : NULL;

	if (last && last->schema == MARKER_RENAME &&
	    marker_value(&t->profile->markers, last, RENAME_NAME)->string == name)
		row->markers.count--;
}

/*
 * Handles an exec, which leaves only the executing thread as the main thread: it takes over the
 * leader's tid. If the leader had ended before, the CPU time continues that of another thread.
 */
static void executed(struct tasks *t, process_id process, uint64_t time, string_id name)
{
	thread_id id = process_at(t, process)->main_thread;
	struct thread *thread = &t->threads.rows.items[id];

	end_threads(t, process, time, id);
	if (thread->has_ended) {
		thread->has_ended = false;
		/* The clock of another thread may continue from any value. */
		thread->cpu.is_replaced = thread->cpu.is_known;
	}
	task_name_set(t, process, id, name);
	process_at(t, process)->arguments = NO_STRING;
	process_at(t, process)->is_forked = false;
	drop_rename_by_exec(t, row_at(t, id), name);
	tasks_add_marker(t, id, MARKER_EXEC, time, row_at(t, id)->name);
}

static void renamed(struct tasks *t, process_id process, thread_id thread, uint64_t time,
		    string_id name)
{
	if (name == NO_STRING || row_at(t, thread)->name == name)
		return;
	task_name_change(t, process, thread, name);
	tasks_add_marker(t, thread, MARKER_RENAME, time, name);
}

void tasks_name(struct tasks *t, const struct rec_name *rec)
{
	uint32_t pid = rec->rec.pid, tid = rec->rec.tid;
	uint64_t time = tasks_time(t, rec->rec.time);
	string_id name = task_name_intern(t, rec->name);
	process_id process;
	thread_id thread;

	if (rec->rec.flags & NAME_NEW_SPACE) {
		new_space(t, pid, time);
		return;
	}
	if (rec->rec.flags & NAME_PROCESS) {
		task_name_set_process(t, get_process(t, pid, time), name);
		return;
	}
	if (rec->rec.flags & NAME_EXEC) {
		executed(t, get_live_process(t, pid, time), time, name);
		note_filters(t, &rec->rec);
		return;
	}
	process = get_process(t, pid, time);
	thread = get_thread(t, process, tid, time);
	note_filters(t, &rec->rec);
	if (!(rec->rec.flags & NAME_SCAN)) {
		t->threads.rows.items[thread].has_given_name = false;
		renamed(t, process, thread, time, name);
		return;
	}
	scanned(t, process, thread);
	task_name_set(t, process, thread, name);
}

/*
 * Returns whether the kernel's name of a thread is a runtime's name cut to its size: the beginning,
 * or beginning and end, as HotSpot does from 22 on.
 */
static bool is_cut_name(const char *name, const char *given)
{
	const size_t size = REC_NAME_SIZE - 1, half = size / 2, given_size = strlen(given);

	if (strlen(name) != size || given_size < size)
		return false;
	return text_starts_with(given, name) ||
	       (memcmp(name, given, half) == 0 && memcmp(name + half, "..", 2) == 0 &&
		strcmp(name + half + 2, given + given_size - (size - half - 2)) == 0);
}

/*
 * Returns whether the kernel's name of a thread is less specific than a runtime's: it is inherited,
 * or cut from it.
 */
static bool has_lesser_name(struct tasks *t, process_id process, thread_id thread,
			    const char *given)
{
	string_id name = row_at(t, thread)->name;
	string_id inherited = row_at(t, process_at(t, process)->main_thread)->name;
	const char *text = name == NO_STRING ? "" : strings_get(&t->profile->strings, name);

	return name == NO_STRING || name == inherited || is_cut_name(text, given);
}

void tasks_give_name(struct tasks *t, const struct rec_thread_name *rec)
{
	process_id process = process_table_find(&t->processes, rec->rec.pid);
	thread_id thread;
	string_id name;

	if (process == NO_PROCESS || !rec->name_size)
		return;
	thread = thread_table_find(&t->threads, process, rec->rec.tid);
	/* The first thread's name is that of the program. */
	if (thread == NO_THREAD || thread == process_at(t, process)->main_thread)
		return;
	name = strings_intern_sized(&t->profile->strings, rec->name, rec->name_size);
	if (t->threads.rows.items[thread].has_given_name) {
		renamed(t, process, thread, tasks_time(t, rec->rec.time), name);
		return;
	}
	if (!has_lesser_name(t, process, thread, strings_get(&t->profile->strings, name)))
		return;
	row_at(t, thread)->name = name;
	t->threads.rows.items[thread].has_given_name = true;
}

/* Extends the lives of a process and its thread to a time at which they were alive. */
static void note_life(struct tasks *t, struct process *owner, thread_id thread, uint64_t time)
{
	thread_seen(&t->threads, thread, time);
	owner->start = MIN(owner->start, time);
	if (owner->has_ended && time > owner->end)
		owner->end = time;
}

thread_id tasks_exit(struct tasks *t, const struct rec_exit *end)
{
	uint64_t time = tasks_time(t, end->rec.time);
	process_id process = get_process(t, end->rec.pid, time);
	thread_id thread = get_thread(t, process, end->rec.tid, time);

	note_filters(t, &end->rec);
	/*
	 * The process may have ended it already: the last two threads may both consider themselves
	 * the last.
	 */
	if (t->threads.rows.items[thread].has_ended)
		note_life(t, process_at(t, process), thread, time);
	else
		thread_end(&t->threads, thread, time);
	if (end->rec.flags & EXIT_PROCESS && !process_at(t, process)->has_ended) {
		end_process(t, process, time);
		if (!(end->rec.flags & EXIT_STATUS_UNKNOWN))
			life_markers_exit(t, process, end);
	}
	return thread;
}

void tasks_set_container(struct tasks *t, const struct rec_container *container)
{
	process_id id = get_process(t, container->rec.pid, tasks_time(t, container->rec.time));

	process_set_container(process_at(t, id), &t->profile->strings, container);
}

void tasks_set_resource(struct tasks *t, const struct rec_resource *resource)
{
	process_id id = get_process(t, resource->rec.pid, tasks_time(t, resource->rec.time));

	process_set_resource(process_at(t, id), &t->profile->strings, resource);
}

void tasks_user(struct tasks *t, const struct rec_user *user)
{
	uint64_t time = tasks_time(t, user->rec.time);
	struct process *process = process_at(t, get_process(t, user->rec.pid, time));
	struct user_change change = {time, (uint64_t)user->gid << 32 | user->uid};

	vec_push(&process->users, change);
}

void tasks_map(struct tasks *t, const struct rec *rec, const struct mapping *mapping)
{
	process_id process = get_process(t, rec->pid, tasks_time(t, rec->time));

	if (mapping_table_insert(&process_at(t, process)->mappings, mapping, t->last_stamp + 1))
		t->last_stamp++;
}

process_id tasks_process(struct tasks *t, const struct rec *rec)
{
	return get_process(t, rec->pid, tasks_time(t, rec->time));
}

/* Looks up the task of a sample again only if a thread was added since, which may replace it. */
static const struct known_task *get_task(struct tasks *t, const struct rec *rec, uint64_t time)
{
	struct known_task *known = &t->known[rec->tid % KNOWN_TASKS];

	if (known->pid == rec->pid && known->tid == rec->tid && known->threads &&
	    known->threads == t->threads.rows.count)
		return known;
	*known = (struct known_task){.pid = rec->pid, .tid = rec->tid};
	known->process = get_process(t, rec->pid, time);
	known->thread = get_thread(t, known->process, rec->tid, time);
	known->threads = t->threads.rows.count;
	return known;
}

thread_id tasks_sampled(struct tasks *t, const struct rec *rec, uint64_t since)
{
	uint64_t time = tasks_time(t, rec->time);
	const struct known_task *task = get_task(t, rec, time);
	struct process *owner = process_at(t, task->process);

	owner->was_wanted = true;
	t->profile->stats.wanted_threads++;
	note_life(t, owner, task->thread, time);
	if (since)
		note_life(t, owner, task->thread, tasks_time(t, since));
	return task->thread;
}

thread_id tasks_known(struct tasks *t, const struct rec *rec)
{
	process_id process = process_table_find(&t->processes, rec->pid);
	thread_id thread = NO_THREAD;

	if (process != NO_PROCESS)
		thread = thread_table_find(&t->threads, process, rec->tid);
	if (thread != NO_THREAD)
		note_life(t, process_at(t, process), thread, tasks_time(t, rec->time));
	return thread;
}

thread_id tasks_machine_row(struct tasks *t, uint32_t number, string_id name)
{
	uint64_t start = t->profile->meta.start_ns;
	process_id process = get_process(t, 0, start);
	thread_id thread = get_thread(t, process, number, start);

	process_at(t, process)->was_wanted = true;
	task_name_set(t, process, thread, name);
	return thread;
}

/* Finds the latest exec that lacks arguments; adds a marker if the record of that exec was lost. */
static const struct marker *find_exec(struct tasks *t, thread_id id, uint64_t time)
{
	struct profile_thread *row = threads_get(&t->profile->threads, id);
	struct markers *markers = &t->profile->markers;
	struct marker exec;

	for (size_t i = row->markers.count; i-- > 0;) {
		const struct marker *marker = &row->markers.items[i];

		if (marker->schema != MARKER_EXEC)
			continue;
		if (!marker_value(markers, marker, EXEC_ARGUMENTS)->type)
			return marker;
		break;
	}
	exec = markers_make(markers, MARKER_EXEC, time, time);
	*marker_value(markers, &exec, EXEC_PROGRAM) = marker_string(row->name);
	thread_add_marker(&t->threads, id, &exec);
	return &vec_last(&row->markers);
}

/* True if the marker already shows this program name. The kernel truncates names. */
static bool is_named(const struct strings *strings, string_id name, const char *program)
{
	size_t size = strings_size(strings, name);

	return size && strncmp(basename(program), strings_get(strings, name), size) == 0;
}

/* Joins the arguments to one line; NO_STRING if there are none. */
static string_id arguments_line(struct strings *strings, string_id program, string_id arguments)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const char *list = strings_get(strings, arguments);
	size_t size = strings_size(strings, arguments);

	if (size && is_named(strings, program, list)) {
		size_t skipped = strlen(list) + 1;

		list += skipped;
		size -= skipped < size ? skipped : size;
	}
	quote_list(&text, list, size);
	return text.size ? strings_intern_sized(strings, text.text, text.size) : NO_STRING;
}

/* True for a title, "nginx: worker process", that a program set in place of its arguments. */
static bool is_title(const char *list, size_t size)
{
	return size && strlen(list) + 1 >= size && strstr(list, ": ");
}

/* Marks a title that replaces what was known before. */
static void mark_title(struct tasks *t, const struct process *process, string_id before,
		       uint64_t time)
{
	struct profile *p = t->profile;
	string_id now = process->arguments;
	struct marker marker;
	schema_id schema;

	if (before == NO_STRING || now == before ||
	    !is_title(strings_get(&p->strings, now), strings_size(&p->strings, now)))
		return;
	schema = schema_text_intern(marker_schema(MARKER_TITLE), &p->markers.schemas, &p->strings);
	if (schema == NO_SCHEMA)
		return;
	marker = markers_make(&p->markers, schema, time, time);
	*marker_value(&p->markers, &marker, TITLE_TEXT) =
		marker_string(strings_intern_line(&p->strings, strings_get(&p->strings, now)));
	thread_add_marker(&t->threads, process->main_thread, &marker);
}

void arguments_enter(struct tasks *t, const struct rec_arguments *rec)
{
	process_id id = tasks_process(t, &rec->rec);
	struct process *process = &t->processes.rows.items[id];
	struct markers *markers = &t->profile->markers;
	struct strings *strings = &t->profile->strings;
	string_id before = process->arguments;
	const struct marker *marker;

	if (rec->arguments_size)
		process->arguments = strings_intern_list(strings, rec->text + rec->folder_size,
							 rec->arguments_size);
	if (rec->rec.flags & ARGUMENTS_SCAN) {
		mark_title(t, process, before, tasks_time(t, rec->rec.time));
		return;
	}
	marker = find_exec(t, process->main_thread, tasks_time(t, rec->rec.time));
	if (process->arguments != NO_STRING)
		*marker_value(markers, marker, EXEC_ARGUMENTS) = marker_string(
			arguments_line(strings, marker_value(markers, marker, EXEC_PROGRAM)->string,
				       process->arguments));
	if (rec->folder_size)
		*marker_value(markers, marker, EXEC_FOLDER) =
			marker_string(strings_intern_sized(strings, rec->text, rec->folder_size));
}

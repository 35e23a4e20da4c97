/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/state_internal.h"

#include "lib/stream/process/resource.h"

INDEX_HAS(pid_equal, struct state_tasks, processes, pid)

static bool tid_equal(const void *table, uint32_t row, const void *key)
{
	const struct state_thread *thread =
		&((const struct state_tasks *)table)->threads.items[row];

	return ((uint64_t)thread->pid << 32 | thread->tid) == *(const uint64_t *)key;
}

static uint32_t find_process(const struct state_tasks *t, uint32_t pid)
{
	return index_find(&t->by_pid, hash_u64(pid), pid_equal, t, &pid);
}

static uint32_t find_thread(const struct state_tasks *t, uint32_t pid, uint32_t tid)
{
	uint64_t key = (uint64_t)pid << 32 | tid;

	return index_find(&t->by_tid, hash_u64(key), tid_equal, t, &key);
}

static uint32_t add_thread(struct state_tasks *t, uint32_t process, uint32_t tid, uint64_t start,
			   enum state_origin origin)
{
	struct state_process *owner = &t->processes.items[process];
	uint32_t row = t->free_thread;

	if (row == NO_STATE_ROW) {
		row = (uint32_t)t->threads.count;
		vec_add_zeroed(&t->threads, 1);
	} else {
		t->free_thread = t->threads.items[row].next;
	}
	t->threads.items[row] = (struct state_thread){
		.pid = owner->pid,
		.tid = tid,
		.start = start,
		.origin = (uint8_t)origin,
		.next = owner->threads,
	};
	owner->threads = row;
	index_add(&t->by_tid, hash_u64((uint64_t)owner->pid << 32 | tid), row);
	return row;
}

static uint32_t add_process(struct state_tasks *t, uint32_t pid, uint64_t start,
			    enum state_origin origin)
{
	uint32_t row = t->free_process;

	if (row == NO_STATE_ROW) {
		row = (uint32_t)t->processes.count;
		vec_add_zeroed(&t->processes, 1);
	} else {
		t->free_process = t->processes.items[row].parent;
	}
	t->processes.items[row] = (struct state_process){
		.pid = pid,
		.parent = NO_STATE_ROW,
		.threads = NO_STATE_ROW,
		.is_outside = true,
		.order = t->count++,
		.mappings = mapping_table_new(),
	};
	index_add(&t->by_pid, hash_u64(pid), row);
	add_thread(t, row, pid, start, origin);
	return row;
}

static void free_thread(struct state_tasks *t, uint32_t row)
{
	struct state_thread *thread = &t->threads.items[row];
	uint64_t key = (uint64_t)thread->pid << 32 | thread->tid;

	index_remove(&t->by_tid, hash_u64(key), row);
	for (int set = 0; set < LABEL_SETS; set++)
		free(thread->labels[set]);
	free(thread->given_name);
	free(thread->wait);
	*thread = (struct state_thread){.is_free = true, .next = t->free_thread};
	t->free_thread = row;
}

/* Ends all threads except `spared`. */
static void end_threads(struct state_tasks *t, struct state_process *p, uint32_t spared)
{
	uint32_t row = p->threads, next;

	p->threads = NO_STATE_ROW;
	for (; row != NO_STATE_ROW; row = next) {
		next = t->threads.items[row].next;
		if (row != spared) {
			free_thread(t, row);
			continue;
		}
		t->threads.items[row].next = NO_STATE_ROW;
		p->threads = row;
	}
}

static void free_process(struct state_tasks *t, uint32_t row);

/* Notes that the process no longer runs its parent's code. */
static void leave_parent(struct state_tasks *t, uint32_t row)
{
	uint32_t parent = t->processes.items[row].parent;

	t->processes.items[row].parent = NO_STATE_ROW;
	if (parent == NO_STATE_ROW)
		return;
	t->processes.items[parent].heirs--;
	if (t->processes.items[parent].end && !t->processes.items[parent].heirs)
		free_process(t, parent);
}

/* Frees a process that is no longer found by its pid. */
static void free_process(struct state_tasks *t, uint32_t row)
{
	struct state_process *p = &t->processes.items[row];

	leave_parent(t, row);
	mapping_table_drop(p->mappings);
	state_code_clear(p);
	free(p->space);
	free(p->arguments);
	free(p->container);
	free(p->resource);
	free(p->user);
	*p = (struct state_process){.is_free = true, .parent = t->free_process};
	t->free_process = row;
}

static void end_process(struct state_tasks *t, uint32_t row, uint64_t time, uint32_t status)
{
	struct state_process *p = &t->processes.items[row];

	end_threads(t, p, NO_STATE_ROW);
	index_remove(&t->by_pid, hash_u64(p->pid), row);
	p->end = time ? time : 1;
	p->end_status = status;
	if (!p->heirs)
		free_process(t, row);
}

void state_tasks_release(struct state_tasks *t)
{
	for (uint32_t i = 0; i < t->processes.count; i++) {
		struct state_process *p = &t->processes.items[i];

		/* All end at once, so none must be kept for its heirs. */
		p->parent = p->is_free ? p->parent : NO_STATE_ROW;
		if (!p->is_free)
			end_threads(t, p, NO_STATE_ROW);
	}
	for (uint32_t i = 0; i < t->processes.count; i++) {
		if (!t->processes.items[i].is_free)
			free_process(t, i);
	}
	vec_release(&t->processes);
	vec_release(&t->threads);
	index_release(&t->by_pid);
	index_release(&t->by_tid);
}

static uint32_t get_process(struct state_tasks *t, uint32_t pid, uint64_t time)
{
	uint32_t row = find_process(t, pid);

	return row == INDEX_NONE ? add_process(t, pid, time, STATE_SEEN) : row;
}

static struct state_thread *get_thread(struct state_tasks *t, uint32_t process, uint32_t tid,
				       uint64_t time)
{
	uint32_t row = find_thread(t, t->processes.items[process].pid, tid);

	if (row == INDEX_NONE)
		row = add_thread(t, process, tid, time, STATE_SEEN);
	return &t->threads.items[row];
}

static void note_filters(struct state_tasks *t, uint32_t process, struct state_thread *thread,
			 const struct rec *rec)
{
	t->processes.items[process].is_outside &= rec->flags & REC_OUTSIDE;
	thread->flags = (uint8_t)((thread->flags & ~REC_UNSAMPLED) | (rec->flags & REC_UNSAMPLED));
}

static void copy_name(char to[REC_NAME_SIZE], const char *name)
{
	if (*name)
		memcpy(to, name, REC_NAME_SIZE);
}

/* Names a thread and, by the session's rules, its process. */
static void set_name(struct state_process *p, struct state_thread *thread, const char *name)
{
	copy_name(thread->name, name);
	if (thread->tid == p->pid)
		copy_name(p->name, name);
}

static void change_name(struct state_process *p, struct state_thread *thread, const char *name)
{
	char before[REC_NAME_SIZE + 1] = "", after[REC_NAME_SIZE + 1] = "";

	copy_name(before, p->name);
	copy_name(after, name);
	set_name(p, thread, name);
	if (!p->is_forked && !process_name_fits(after, before, "", 0))
		copy_name(p->name, before);
}

/* Children begin with the known attributes of their parent. */
static void inherit(struct state_tasks *t, uint32_t row, const struct rec_fork *rec)
{
	uint32_t parent_row = find_process(t, rec->parent_pid), thread;
	struct state_process *p = &t->processes.items[row], *parent;

	p->ns_pid = rec->ns_pid;
	if (parent_row == INDEX_NONE || parent_row == row)
		return;
	parent = &t->processes.items[parent_row];
	mapping_table_drop(p->mappings);
	p->mappings = mapping_table_hold(parent->mappings);
	if (parent->arguments)
		state_replace(&p->arguments, parent->arguments);
	if (parent->container)
		state_replace(&p->container, parent->container);
	if (parent->resource)
		state_replace(&p->resource, parent->resource);
	if (parent->user)
		state_replace(&p->user, parent->user);
	thread = find_thread(t, rec->parent_pid, rec->parent_tid);
	if (thread != INDEX_NONE &&
	    strncmp(t->threads.items[thread].name, rec->name, REC_NAME_SIZE) == 0)
		copy_name(p->name, parent->name);
	/* The nearest ancestor that generated code. */
	p->parent = parent->code.count ? parent_row : parent->parent;
	if (p->parent != NO_STATE_ROW)
		t->processes.items[p->parent].heirs++;
}

/* True if the fork record arrives after another record of the thread. */
static bool is_late(const struct state_thread *thread, uint64_t time)
{
	return thread->origin == STATE_SEEN && time <= thread->start;
}

static uint32_t fork_process(struct state_tasks *t, const struct rec_fork *rec)
{
	uint32_t pid = rec->rec.pid, row = find_process(t, pid), thread;

	thread = row == INDEX_NONE ? INDEX_NONE : find_thread(t, pid, pid);
	if (thread != INDEX_NONE && is_late(&t->threads.items[thread], rec->rec.time)) {
		t->threads.items[thread].origin = STATE_FORKED;
		t->threads.items[thread].start = rec->rec.time;
		if (!t->processes.items[row].mappings->rows.count)
			inherit(t, row, rec);
		return row;
	}
	if (row != INDEX_NONE)
		end_process(t, row, rec->rec.time, 0);
	row = add_process(t, pid, rec->rec.time, STATE_FORKED);
	t->processes.items[row].is_forked = true;
	inherit(t, row, rec);
	return row;
}

void state_tasks_fork(struct state_tasks *t, const struct rec_fork *rec)
{
	bool is_process = rec->rec.pid != rec->parent_pid;
	uint32_t row = is_process ? fork_process(t, rec)
				  : get_process(t, rec->rec.pid, rec->rec.time);
	struct state_thread *thread = get_thread(t, row, rec->rec.tid, rec->rec.time);

	if (is_process || rec->rec.tid != rec->rec.pid) {
		thread->origin = STATE_FORKED;
		thread->start = rec->rec.time;
		thread->parent_pid = rec->parent_pid;
		thread->parent_tid = rec->parent_tid;
		copy_name(thread->name, rec->name);
	}
	if (is_process && !*t->processes.items[row].name)
		copy_name(t->processes.items[row].name, rec->name);
	note_filters(t, row, thread, &rec->rec);
}

static void new_space(struct state_tasks *t, uint32_t row, const struct rec_name *rec)
{
	struct state_process *p = &t->processes.items[row];

	state_replace(&p->space, &rec->rec);
	p->is_forked = false;
	mapping_table_drop(p->mappings);
	p->mappings = mapping_table_new();
	state_code_clear(p);
	leave_parent(t, row);
}

static void executed(struct state_tasks *t, uint32_t row, const struct rec_name *rec)
{
	struct state_process *p = &t->processes.items[row];
	struct state_thread *thread = get_thread(t, row, p->pid, rec->rec.time);

	p = &t->processes.items[row];
	end_threads(t, p, (uint32_t)(thread - t->threads.items));
	set_name(p, thread, rec->name);
	p->is_forked = false;
	free(p->arguments);
	p->arguments = NULL;
	note_filters(t, row, thread, &rec->rec);
}

void state_tasks_name(struct state_tasks *t, const struct rec_name *rec)
{
	uint32_t row = get_process(t, rec->rec.pid, rec->rec.time);
	struct state_thread *thread;

	if (rec->rec.flags & NAME_NEW_SPACE) {
		new_space(t, row, rec);
		return;
	}
	if (rec->rec.flags & NAME_EXEC) {
		executed(t, row, rec);
		return;
	}
	if (rec->rec.flags & NAME_PROCESS) {
		copy_name(t->processes.items[row].name, rec->name);
		return;
	}
	thread = get_thread(t, row, rec->rec.tid, rec->rec.time);
	if (rec->rec.flags & NAME_SCAN && thread->origin == STATE_SEEN) {
		thread->origin = STATE_SCANNED;
		thread->flags |= rec->rec.flags & NAME_KERNEL_THREAD;
	}
	if (rec->rec.flags & NAME_SCAN)
		set_name(&t->processes.items[row], thread, rec->name);
	else
		change_name(&t->processes.items[row], thread, rec->name);
	note_filters(t, row, thread, &rec->rec);
}

static void unlink_thread(struct state_tasks *t, struct state_process *p, uint32_t row)
{
	uint32_t *link = &p->threads;

	while (*link != row && *link != NO_STATE_ROW)
		link = &t->threads.items[*link].next;
	if (*link == row)
		*link = t->threads.items[row].next;
}

void state_tasks_exit(struct state_tasks *t, const struct rec_exit *rec)
{
	uint32_t row = find_process(t, rec->rec.pid);
	uint32_t thread = find_thread(t, rec->rec.pid, rec->rec.tid);

	if (row == INDEX_NONE)
		return;
	if (rec->rec.flags & EXIT_PROCESS) {
		end_process(t, row, rec->rec.time, rec->status);
	} else if (thread != INDEX_NONE && rec->rec.tid != rec->rec.pid) {
		unlink_thread(t, &t->processes.items[row], thread);
		free_thread(t, thread);
	}
}

struct state_process *state_tasks_process(struct state_tasks *t, const struct rec *rec)
{
	uint32_t row = get_process(t, rec->pid, rec->time);

	return &t->processes.items[row];
}

struct state_thread *state_tasks_thread(struct state_tasks *t, const struct rec *rec)
{
	uint32_t row = find_thread(t, rec->pid, rec->tid);

	return row == INDEX_NONE ? NULL : &t->threads.items[row];
}

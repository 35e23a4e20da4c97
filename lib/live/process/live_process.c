/* SPDX-License-Identifier: MIT */
#include "lib/live/process/live_process.h"

/* Rows must not move, so they are allocated in blocks. */
#define BLOCK_ROWS 64

struct listener {
	struct process_listener is;
	void *ctx;
};

struct leaving {
	struct live_process *process;
	uint32_t round;
};

struct live_processes {
	VEC(struct listener) listeners; /* in the order of calls */
	size_t row_size;
	VEC(char *) blocks;
	uint32_t row_count; /* number of rows ever used */
	VEC(uint32_t) free_rows;
	struct index by_pid;
	VEC(struct leaving) leaving; /* sorted by exit_round */
	uint32_t round;
};

struct live_processes *live_processes_new(void)
{
	struct live_processes *t = xcalloc(1, sizeof(*t));

	t->row_size = sizeof(struct live_process);
	return t;
}

struct process_state live_processes_listen(struct live_processes *t,
					   const struct process_listener *listener, void *ctx)
{
	struct process_state state = {.offset = t->row_size};
	size_t at = t->listeners.count;

	vec_push(&t->listeners, (struct listener){*listener, ctx});
	for (; at && t->listeners.items[at - 1].is.stage > listener->stage; at--)
		t->listeners.items[at] = t->listeners.items[at - 1];
	t->listeners.items[at] = (struct listener){*listener, ctx};
	/* States need the alignment of pointers and 64-bit numbers. */
	t->row_size += (listener->state_size + 7) & ~(size_t)7;
	return state;
}

static struct live_process *row_at(const struct live_processes *t, uint32_t id)
{
	return (struct live_process *)(t->blocks.items[id / BLOCK_ROWS] +
				       id % BLOCK_ROWS * t->row_size);
}

static bool pid_equal(const void *table, uint32_t id, const void *key)
{
	return row_at(table, id)->pid == *(const uint32_t *)key;
}

static uint32_t find_row(const struct live_processes *t, uint32_t pid)
{
	return index_find(&t->by_pid, hash_u64(pid), pid_equal, t, &pid);
}

static struct live_process *add_row(struct live_processes *t, uint32_t pid, uint64_t since)
{
	struct live_process *process;
	uint32_t id;

	if (t->free_rows.count) {
		id = t->free_rows.items[--t->free_rows.count];
	} else {
		id = t->row_count++;
		if (id % BLOCK_ROWS == 0)
			vec_push(&t->blocks, xcalloc(BLOCK_ROWS, t->row_size));
	}
	index_add(&t->by_pid, hash_u64(pid), id);
	process = row_at(t, id);
	*process = (struct live_process){.pid = pid, .since = since};
	return process;
}

/* Releases the process and zeroes its row. */
static void release(struct live_processes *t, struct live_process *process)
{
	vec_for_each(&t->listeners, const struct listener *, listener) {
		if (listener->is.release)
			listener->is.release(listener->ctx, process);
	}
	memset(process, 0, t->row_size);
}

static void end(struct live_processes *t, struct live_process *process, uint64_t time)
{
	vec_for_each(&t->listeners, const struct listener *, listener) {
		if (listener->is.exit)
			listener->is.exit(listener->ctx, process, time);
	}
	release(t, process);
}

void live_processes_free(struct live_processes *t)
{
	struct live_process *process;

	if (!t)
		return;
	for (uint32_t at = 0; (process = live_processes_next(t, &at));)
		release(t, process);
	vec_for_each(&t->blocks, char **, block)
		free(*block);
	vec_release(&t->blocks);
	vec_release(&t->free_rows);
	vec_release(&t->leaving);
	vec_release(&t->listeners);
	index_release(&t->by_pid);
	free(t);
}

/* Reuses the row of a previous process with the same pid. */
static void begin_again(struct live_processes *t, struct live_process *process, uint64_t since,
			uint64_t time)
{
	uint32_t pid = process->pid;

	end(t, process, time);
	*process = (struct live_process){.pid = pid, .since = since};
}

struct live_process *live_processes_add(struct live_processes *t, uint32_t pid, uint64_t since)
{
	uint32_t id = find_row(t, pid);
	struct live_process *process;

	if (id == INDEX_NONE)
		return add_row(t, pid, since);
	process = row_at(t, id);
	if (process->exit_round)
		begin_again(t, process, since, since);
	return process;
}

struct live_process *live_processes_find(const struct live_processes *t, uint32_t pid,
					 uint64_t time)
{
	uint32_t id = find_row(t, pid);
	struct live_process *process = id == INDEX_NONE ? NULL : row_at(t, id);

	return process && time >= process->since ? process : NULL;
}

void live_processes_fork(struct live_processes *t, uint32_t pid, uint32_t parent_pid, uint64_t time)
{
	/* Use the parent's current row: /proc may have reported it later than this fork. */
	struct live_process *parent = live_processes_find(t, parent_pid, UINT64_MAX), *child;
	uint32_t id = find_row(t, pid);

	if (!pid)
		return;
	if (id == INDEX_NONE) {
		child = add_row(t, pid, time);
	} else {
		child = row_at(t, id);
		if (time < child->since || child == parent)
			return;
		begin_again(t, child, time, time);
	}
	vec_for_each(&t->listeners, const struct listener *, listener) {
		if (listener->is.fork)
			listener->is.fork(listener->ctx, child, parent);
	}
}

void live_processes_thread(struct live_processes *t, uint32_t pid, uint64_t time)
{
	struct live_process *process = live_processes_find(t, pid, time);

	if (!process)
		return;
	vec_for_each(&t->listeners, const struct listener *, listener) {
		if (listener->is.thread)
			listener->is.thread(listener->ctx, process, time);
	}
}

void live_processes_exec(struct live_processes *t, struct live_process *process, uint64_t time)
{
	vec_for_each(&t->listeners, const struct listener *, listener) {
		if (listener->is.exec)
			listener->is.exec(listener->ctx, process, time);
	}
}

void live_processes_exit(struct live_processes *t, uint32_t pid, uint64_t time)
{
	struct live_process *process = live_processes_find(t, pid, time);

	if (!process || process->exit_round)
		return;
	process->exit_round = t->round + 1;
	vec_push(&t->leaving, (struct leaving){process, process->exit_round});
}

/*
 * Removes the row unless it belongs to a newer process with the same pid, which is alive or exited
 * later.
 */
static void forget(struct live_processes *t, const struct leaving *leaving, uint64_t now)
{
	struct live_process *process = leaving->process;
	uint32_t pid = process->pid, id;

	if (process->exit_round != leaving->round)
		return;
	id = find_row(t, pid);
	end(t, process, now);
	index_remove(&t->by_pid, hash_u64(pid), id);
	vec_push(&t->free_rows, id);
}

void live_processes_next_round(struct live_processes *t, uint64_t now)
{
	size_t count = 0;

	t->round++;
	while (count < t->leaving.count && t->leaving.items[count].round + 2 <= t->round)
		forget(t, &t->leaving.items[count++], now);
	if (!count)
		return;
	t->leaving.count -= count;
	memmove(t->leaving.items, t->leaving.items + count,
		t->leaving.count * sizeof(*t->leaving.items));
}

struct live_process *live_processes_next(const struct live_processes *t, uint32_t *at)
{
	while (*at < t->row_count) {
		struct live_process *process = row_at(t, (*at)++);

		if (process->pid)
			return process;
	}
	return NULL;
}

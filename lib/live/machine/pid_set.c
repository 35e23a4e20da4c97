/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/pid_set.h"

void pid_set_release(struct pid_set *s)
{
	vec_release(&s->rows);
	vec_release(&s->free_rows);
	vec_release(&s->leaving);
	index_release(&s->index);
}

static bool row_equal(const void *table, uint32_t id, const void *key)
{
	const struct pid_set *s = table;

	return s->rows.items[id].pid == *(const uint32_t *)key;
}

static uint32_t find_row(const struct pid_set *s, uint32_t pid)
{
	return index_find(&s->index, hash_u64(pid), row_equal, s, &pid);
}

void pid_set_add(struct pid_set *s, uint32_t pid, uint64_t since)
{
	uint32_t id = find_row(s, pid);

	if (id != INDEX_NONE) {
		s->rows.items[id].exit_round = 0;
		return;
	}
	if (s->free_rows.count) {
		id = s->free_rows.items[--s->free_rows.count];
	} else {
		id = (uint32_t)s->rows.count;
		vec_add_zeroed(&s->rows, 1);
	}
	s->rows.items[id] = (struct pid_row){.pid = pid, .since = since};
	index_add(&s->index, hash_u64(pid), id);
}

bool pid_set_has(const struct pid_set *s, uint32_t pid, uint64_t time)
{
	uint32_t id = find_row(s, pid);

	return id != INDEX_NONE && time >= s->rows.items[id].since;
}

void pid_set_leave(struct pid_set *s, uint32_t pid)
{
	uint32_t id = find_row(s, pid);

	if (id == INDEX_NONE)
		return;
	s->rows.items[id].exit_round = s->round + 1;
	vec_push(&s->leaving, (struct pid_leaving){.pid = pid, .round = s->round + 1});
}

static bool forget(struct pid_set *s, const struct pid_leaving *leaving)
{
	uint32_t id = find_row(s, leaving->pid);

	/* The pid may have been given to a new process meanwhile. */
	if (id == INDEX_NONE || s->rows.items[id].exit_round != leaving->round)
		return false;
	index_remove(&s->index, hash_u64(leaving->pid), id);
	vec_push(&s->free_rows, id);
	return true;
}

void pid_set_next_round(struct pid_set *s, pid_gone_fn *gone, void *ctx)
{
	size_t count = 0;

	s->round++;
	while (count < s->leaving.count && s->leaving.items[count].round + 2 <= s->round) {
		struct pid_leaving leaving = s->leaving.items[count++];

		if (forget(s, &leaving))
			gone(ctx, leaving.pid);
	}
	if (!count)
		return;
	s->leaving.count -= count;
	memmove(s->leaving.items, s->leaving.items + count,
		s->leaving.count * sizeof(*s->leaving.items));
}

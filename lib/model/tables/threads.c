/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/threads.h"

static void release(struct profile_thread *row)
{
	samples_release(&row->samples);
	vec_release(&row->markers);
	vec_release(&row->allocations.rows);
}

void threads_release(struct threads *t)
{
	vec_for_each(&t->rows, struct profile_thread *, row)
		release(row);
	vec_release(&t->rows);
}

thread_id threads_add(struct threads *t, const struct profile_thread *thread)
{
	vec_push(&t->rows, *thread);
	return (thread_id)(t->rows.count - 1);
}

struct profile_thread *threads_get(struct threads *t, thread_id id)
{
	return &t->rows.items[id];
}

void threads_keep(struct threads *t, const bool *is_kept)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->rows.count; i++) {
		if (is_kept[i])
			t->rows.items[kept++] = t->rows.items[i];
		else
			release(&t->rows.items[i]);
	}
	t->rows.count = kept;
}

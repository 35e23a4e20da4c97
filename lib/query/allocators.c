/* SPDX-License-Identifier: MIT */
#include "lib/query/allocators.h"

/* Identifies a thread as allocations do. */
struct maker {
	uint32_t pid, incarnation, tid;
	uint64_t start; /* CLOCK_MONOTONIC ns */
	thread_id thread;
};

struct makers {
	VEC(struct maker) list;
};

ORDER(compare_makers, struct maker,
      COMPARE(a->pid, b->pid) ?: COMPARE(a->incarnation, b->incarnation) ?:
      COMPARE(a->tid, b->tid) ?: COMPARE(a->start, b->start))

ORDER(compare_rows, struct allocator_row,
      COMPARE(a->thread, b->thread) ?: COMPARE(a->allocation->time, b->allocation->time) ?:
      COMPARE(a->allocation, b->allocation))

static void list_threads(struct makers *m, const struct profile *p)
{
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *row = &p->threads.rows.items[id];

		vec_push(&m->list,
			 (struct maker){row->pid, row->incarnation, row->tid, row->start, id});
	}
	vec_sort(&m->list, compare_makers);
}

/* Returns the latest thread of that tid that had started; NO_THREAD: none. */
static thread_id find_thread(const struct makers *m, const struct profile_thread *main,
			     const struct allocation *row)
{
	const struct maker key = {main->pid, main->incarnation, row->tid, row->time, 0};
	size_t count = count_front(m->list.items, m->list.count, it, compare_makers(it, &key) <= 0);
	const struct maker *found = count ? &m->list.items[count - 1] : NULL;

	return found && found->pid == key.pid && found->incarnation == key.incarnation &&
			       found->tid == key.tid
		       ? found->thread
		       : NO_THREAD;
}

void allocators_find(struct allocators *a, const struct profile *p)
{
	struct makers makers = {0};

	*a = (struct allocators){0};
	list_threads(&makers, p);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *main = &p->threads.rows.items[id];

		vec_for_each(&main->allocations.rows, const struct allocation *, row) {
			thread_id thread = find_thread(&makers, main, row);

			vec_push(&a->rows,
				 (struct allocator_row){thread == NO_THREAD ? id : thread, row});
		}
	}
	vec_sort(&a->rows, compare_rows);
	vec_release(&makers.list);
}

void allocators_release(struct allocators *a)
{
	vec_release(&a->rows);
}

const struct allocator_row *allocators_first(const struct allocators *a, thread_id thread)
{
	return a->rows.items + count_front(a->rows.items, a->rows.count, it, it->thread < thread);
}

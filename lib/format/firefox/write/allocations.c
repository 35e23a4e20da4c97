/* SPDX-License-Identifier: MIT */
/* Allocations of a row, and their frees: the table nativeAllocations. */
#include "lib/format/firefox/write/internal.h"

#include <stdlib.h>

static int compare_times(const void *left, const void *right)
{
	const struct allocation *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

/* Collects those of all threads of the row. */
static void collect(const struct firefox *f, const struct firefox_row *row, struct allocations *all)
{
	size_t members = 0;

	for (size_t i = 0; i < row->count; i++) {
		thread_id id = f->rows.members.items[row->first + i];
		const struct allocations *own = &f->profile->threads.rows.items[id].allocations;

		vec_for_each(&own->rows, const struct allocation *, allocation)
			vec_push(&all->rows, *allocation);
		members += own->rows.count > 0;
	}
	if (members > 1)
		qsort(all->rows.items, all->rows.count, sizeof(*all->rows.items), compare_times);
}

/*
 * Blocks have numbers in place of addresses: front-ends only compare them, and a profile has no
 * addresses of a process.
 */
static void write_table(const struct firefox *f, struct jsonw *w, const struct allocations *all,
			const struct allocation_events *events)
{
#define COLUMN(key, format) \
	FIREFOX_COLUMN(w, key, &events->rows, struct allocation_event, event, at, format)
#define ROW (&all->rows.items[event->row])
	jsonw_key(w, "nativeAllocations");
	jsonw_object_begin(w);
	COLUMN("time", jsonw_format_ms(at, firefox_time(f, event->time)));
	COLUMN("weight",
	       jsonw_format_i64(at, event->is_free ? -(int64_t)ROW->bytes : (int64_t)ROW->bytes));
	jsonw_key(w, "weightType");
	jsonw_cstring(w, WEIGHTS_ARE_BYTES);
	COLUMN("stack", firefox_format_position(at, ROW->stack));
	COLUMN("memoryAddress", jsonw_format_u64(at, event->row + 1ull));
	COLUMN("threadId", jsonw_format_u64(at, ROW->tid));
	jsonw_key(w, "length");
	jsonw_u64(w, events->rows.count);
	jsonw_object_end(w);
#undef COLUMN
#undef ROW
}

void firefox_write_allocations(const struct firefox *f, struct jsonw *w,
			       const struct firefox_row *row)
{
	struct allocation_events events = {0};
	struct allocations all = {0};

	if (row->kind == ROW_THREAD || row->kind == ROW_FOLDED)
		collect(f, row, &all);
	allocations_list(&all, &events);
	if (events.rows.count)
		write_table(f, w, &all, &events);
	vec_release(&events.rows);
	vec_release(&all.rows);
}

/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/ended_spaces.h"

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

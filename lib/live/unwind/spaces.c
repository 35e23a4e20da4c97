/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/spaces.h"

#include "lib/base/cleanup.h"

void spaces_init(struct spaces *s, struct live_processes *processes,
		 const struct process_listener *listener, void *ctx)
{
	*s = (struct spaces){.processes = processes};
	s->state = live_processes_listen(processes, listener, ctx);
}

void spaces_release(struct spaces *s)
{
	vec_release(&s->dirty);
}

void spaces_mark_dirty(struct spaces *s, struct live_process *process)
{
	struct space *space = spaces_of(s, process);

	if (space->dirty_at)
		return;
	vec_push(&s->dirty, process);
	space->dirty_at = (uint32_t)s->dirty.count;
}

void spaces_mark_pending(struct spaces *s)
{
	struct live_process *process;

	for (uint32_t at = 0; (process = live_processes_next(s->processes, &at));) {
		if (spaces_of(s, process)->is_pending)
			spaces_mark_dirty(s, process);
	}
}

bool spaces_are_settled(const struct spaces *s)
{
	struct live_process *process;

	if (s->dirty.count)
		return false;
	for (uint32_t at = 0; (process = live_processes_next(s->processes, &at));) {
		if (spaces_of(s, process)->is_pending)
			return false;
	}
	return true;
}

void spaces_use_tables(const struct spaces *s, struct module_tables *tables, uint64_t now)
{
	struct live_process *process;

	for (uint32_t at = 0; (process = live_processes_next(s->processes, &at));) {
		const struct mapping_table *mappings = spaces_of(s, process)->mappings;

		if (!mappings)
			continue;
		vec_for_each(&mappings->rows, const struct mapping *, mapping) {
			if (mapping->module < tables->rows.count)
				tables->rows.items[mapping->module].last_used_ns = now;
		}
	}
}

struct live_process *spaces_next_dirty(struct spaces *s)
{
	struct live_process *process;

	if (!s->dirty.count)
		return NULL;
	process = s->dirty.items[--s->dirty.count];
	spaces_of(s, process)->dirty_at = 0;
	return process;
}

void spaces_forget(struct spaces *s, struct live_process *process)
{
	struct space *space = spaces_of(s, process);
	struct live_process *last;

	if (space->mappings)
		mapping_table_drop(steal(space->mappings));
	if (!space->dirty_at)
		return;
	last = vec_last(&s->dirty);
	s->dirty.items[space->dirty_at - 1] = last;
	spaces_of(s, last)->dirty_at = space->dirty_at;
	s->dirty.count--;
	space->dirty_at = 0;
}

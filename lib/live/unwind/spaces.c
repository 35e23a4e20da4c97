/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/spaces.h"

#include "bpf/unwind.h"
#include "lib/live/process/maps_walk.h"

/*
 * Maximum stacks waiting for code: code is described only after it was made, so up to this many
 * stacks wait after the last description. They wait until the process describes later code or ends,
 * since writers hold back data that does not fill a buffer. As many stacks by tracepoints may wait
 * in addition: a thread may leave its CPU far more often than it is sampled, and its ticks must not
 * become guesses because of that.
 */
#define PENDING_EXEC_COPIES 512

void spaces_init(struct spaces *s, struct live_processes *processes,
		 const struct process_listener *listener, void *ctx)
{
	*s = (struct spaces){.processes = processes};
	s->state = live_processes_listen(processes, listener, ctx);
}

void spaces_mark_dirty(struct spaces *s, struct live_process *process)
{
	struct space *space = spaces_of(s, process);

	if (space->dirty_at)
		return;
	vec_push(&s->dirty, process);
	space->dirty_at = (uint32_t)s->dirty.count;
}

void space_await_code(struct space *space, bool wanted)
{
	space->pending_exec = space->pending_waits = wanted ? PENDING_EXEC_COPIES : 0;
}

struct mapping_rows {
	VEC(struct mapping) rows;
};

/* Reads the executable mappings of files. Empty: the process has ended, or may not be read. */
static void read_mapped(uint32_t pid, struct mapping_rows *mapped)
{
	struct exec_maps maps;
	struct proc_map map;

	if (exec_maps_open(&maps, pid, EXEC_MAPS_ASK) != 0)
		return;
	while (exec_maps_next(&maps, &map)) {
		if (map.inode)
			vec_push(&mapped->rows,
				 ((struct mapping){map.start, map.end, map.file_offset, 0}));
	}
	exec_maps_release(&maps);
}

static bool is_mapped(const struct mapping_rows *mapped, const struct mapping *m)
{
	return vec_find(&mapped->rows, row,
			m->start >= row->start && m->start < row->end &&
				m->start - m->file_offset == row->start - row->file_offset);
}

bool space_drop_unmapped(struct space *space, uint32_t pid, uint32_t module_id, uint64_t *stamp)
{
	struct mapping_rows mapped = {0};
	bool has_any = false;

	read_mapped(pid, &mapped);
	for (size_t i = 0; mapped.rows.count && i < space->mappings->rows.count; i++) {
		struct mapping m = space->mappings->rows.items[i];

		if (m.module != module_id || is_mapped(&mapped, &m))
			continue;
		m = (struct mapping){m.start, m.end, 0, MAPPING_ANON};
		mapping_table_insert(&space->mappings, &m, ++*stamp);
		has_any = true;
	}
	vec_release(&mapped.rows);
	return has_any;
}

bool spaces_keep_copy(struct spaces *s, struct live_process *process, const struct rec_copy *copy)
{
	struct space *space = spaces_of(s, process);
	uint32_t *left = copy->rec.flags & COPY_BY_TRACEPOINT ? &space->pending_waits
							      : &space->pending_exec;

	if (!*left)
		return false;
	if (!--*left)
		spaces_mark_dirty(s, process);
	if (!space->pending_exec)
		space->pending_waits = 0;
	return true;
}

uint32_t space_pending_flags(const struct space *space)
{
	if (space->pending_waits)
		return UNWIND_PENDING;
	return space->pending_exec ? UNWIND_PENDING_TICKS : 0;
}

void spaces_mark_pending(struct spaces *s)
{
	struct live_process *process;

	for (uint32_t at = 0; (process = live_processes_next(s->processes, &at));) {
		if (spaces_of(s, process)->is_pending)
			spaces_mark_dirty(s, process);
	}
}

void spaces_mark_runtimes(struct spaces *s, const struct module_tables *tables)
{
	struct live_process *process;

	for (uint32_t at = 0; (process = live_processes_next(s->processes, &at));) {
		const struct mapping_table *mappings = spaces_of(s, process)->mappings;
		struct mapped_runtime runtime;
		size_t first = 0;

		if (mappings && module_tables_next_runtime(tables, mappings, &first, &runtime))
			spaces_mark_dirty(s, process);
	}
}

void spaces_mark_module(struct spaces *s, uint32_t module_id)
{
	struct live_process *process;

	for (uint32_t at = 0; (process = live_processes_next(s->processes, &at));) {
		const struct mapping_table *mappings = spaces_of(s, process)->mappings;

		if (mappings && vec_find(&mappings->rows, mapping, mapping->module == module_id))
			spaces_mark_dirty(s, process);
	}
}

void spaces_inherit_files(const struct spaces *s, struct module_registry *files,
			  struct live_process *process, uint64_t time)
{
	const struct mapping_table *mappings = spaces_of(s, process)->mappings;

	if (!mappings || !module_registry_has_unopened(files))
		return;
	vec_for_each(&mappings->rows, const struct mapping *, mapping)
		module_registry_inherit(files, mapping, process->pid, time);
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

/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/runtime_files.h"

#include <stdlib.h>

#include "lib/base/cleanup.h"

/* Interval of checks whether a runtime has started. */
#define START_WAIT_NS 5000000
#define START_WAIT_MAX_NS 1000000000

void runtime_files_release(struct runtime_files *f)
{
	vec_for_each(&f->found, struct new_runtime *, found)
		free(found->layout);
	vec_release(&f->found);
	vec_release(&f->waiting);
}

void runtime_files_take(struct runtime_files *f, const struct module_tables *modules,
			struct table_result *result)
{
	struct new_runtime found = {.module_id = result->module_id};

	if (result->refusal)
		f->hooks.refused(f->hooks.ctx, result->refusal);
	/* A table that was dropped is compiled again, and its file searched. */
	if (!result->layout || modules->rows.items[result->module_id].runtime)
		return;
	found.layout = steal(result->layout);
	vec_push(&f->found, found);
}

void runtime_files_expect(struct runtime_files *f, int fd)
{
	struct runtime_layout layout;
	uint32_t number;

	/* If it is mapped, it is refused then. */
	if (!f->hooks.probe || f->hooks.probe(fd, &layout, NULL) != 0 ||
	    layout.kind == RUNTIME_NONE)
		return;
	f->hooks.found(f->hooks.ctx, &layout, &number);
	f->hooks.described(f->hooks.ctx);
}

static bool add_started(struct runtime_files *f, struct module_tables *modules,
			const struct new_runtime *found)
{
	struct module_table *table = &modules->rows.items[found->module_id];
	uint32_t number;

	if (!f->hooks.found(f->hooks.ctx, found->layout, &number))
		return false;
	table->runtime = found->layout->kind;
	table->layout = number;
	f->has_found = true;
	return true;
}

bool runtime_files_add_started(struct runtime_files *f, struct module_tables *modules)
{
	bool has_any = false;

	vec_for_each(&f->found, struct new_runtime *, found) {
		has_any |= add_started(f, modules, found);
		free(found->layout);
	}
	vec_clear(&f->found);
	return has_any;
}

void runtime_files_end(const struct runtime_files *f)
{
	f->hooks.described(f->hooks.ctx);
}

/* Has the runtime started? Limits how often that is checked. */
static bool has_started(struct runtime_files *f, struct live_process *process, struct space *space,
			struct mapped_runtime *runtime, uint64_t now)
{
	const struct starting_process starting = {process->pid, space->execs, runtime->bias};
	int result;

	if (space->start_state == SPACE_STARTED && f->hooks.start)
		runtime->layout = space->layout;
	if (space->start_state == SPACE_STARTED || space->start_state == SPACE_REFUSED ||
	    !f->hooks.start)
		return space->start_state != SPACE_REFUSED;
	if (now < space->start_ns)
		return false;
	result = f->hooks.start(f->hooks.ctx, &starting, &runtime->layout);
	if (result) {
		space->layout = runtime->layout;
		space->start_state = result > 0 ? SPACE_STARTED : SPACE_REFUSED;
		return result > 0;
	}
	space->start_wait_ns = space->start_wait_ns * 2 < START_WAIT_MAX_NS
				       ? space->start_wait_ns * 2
				       : START_WAIT_MAX_NS;
	if (space->start_wait_ns < START_WAIT_NS)
		space->start_wait_ns = START_WAIT_NS;
	space->start_ns = now + space->start_wait_ns;
	if (space->start_state != SPACE_STARTING)
		vec_push(&f->waiting, process);
	space->start_state = SPACE_STARTING;
	return false;
}

void runtime_files_describe(struct runtime_files *f, const struct module_tables *modules,
			    struct live_process *process, struct space *space, uint64_t now,
			    struct unwind_space *description)
{
	struct mapped_runtime runtime;

	if (!f->has_found)
		return;
	runtime = module_tables_runtime(modules, space->mappings);
	if (!runtime.kind || !has_started(f, process, space, &runtime, now))
		return;
	description->runtime = runtime.kind;
	description->layout = runtime.layout;
	description->runtime_bias = runtime.bias;
}

void runtime_files_retry(struct runtime_files *f, struct spaces *spaces, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->waiting.count; i++) {
		struct live_process *process = f->waiting.items[i];
		const struct space *space = spaces_of(spaces, process);

		if (space->start_state != SPACE_STARTING)
			continue;
		f->waiting.items[kept++] = process;
		if (now >= space->start_ns)
			spaces_mark_dirty(spaces, process);
	}
	f->waiting.count = kept;
}

void runtime_files_forget(struct runtime_files *f, const struct live_process *process)
{
	for (size_t i = 0; i < f->waiting.count; i++) {
		if (f->waiting.items[i] == process)
			f->waiting.items[i--] = f->waiting.items[--f->waiting.count];
	}
}

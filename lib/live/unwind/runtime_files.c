/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/runtime_files.h"

#include <stdlib.h>

#include "lib/base/cleanup.h"

void runtime_files_release(struct runtime_files *f)
{
	vec_for_each(&f->found, struct new_runtime *, found)
		free(found->layout);
	vec_release(&f->found);
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

static bool tell(struct runtime_files *f, struct module_tables *modules,
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

bool runtime_files_tell(struct runtime_files *f, struct module_tables *modules)
{
	bool has_any = false;

	vec_for_each(&f->found, struct new_runtime *, found) {
		has_any |= tell(f, modules, found);
		free(found->layout);
	}
	vec_clear(&f->found);
	return has_any;
}

void runtime_files_end(const struct runtime_files *f)
{
	f->hooks.described(f->hooks.ctx);
}

void runtime_files_describe(const struct runtime_files *f, const struct module_tables *modules,
			    const struct mapping_table *mappings, struct unwind_space *space)
{
	struct mapped_runtime runtime;

	if (!f->has_found)
		return;
	runtime = module_tables_runtime(modules, mappings);
	space->runtime = runtime.kind;
	space->layout = runtime.layout;
	space->runtime_bias = runtime.bias;
}

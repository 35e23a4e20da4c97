/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/runtime_files.h"

void runtime_files_take(struct runtime_files *f, struct module_tables *modules,
			const struct table_result *result)
{
	struct module_table *table = &modules->rows.items[result->module_id];
	uint32_t number;

	if (result->refusal)
		f->hooks.refused(f->hooks.ctx, result->refusal);
	/* A table that was dropped is compiled again, and its file searched. */
	if (!result->layout || table->runtime ||
	    !f->hooks.found(f->hooks.ctx, result->layout, &number))
		return;
	table->runtime = result->layout->kind;
	table->layout = number;
	f->has_found = true;
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

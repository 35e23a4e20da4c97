/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jit_mappings.h"

#include <stdio.h>

#include "lib/record/record.h"

void jit_mappings_release(struct jit_mappings *m)
{
	vec_release(&m->dumps);
}

/* The path of a module record is not terminated. */
void jit_mappings_module(struct jit_mappings *m, const struct rec_module *module)
{
	char path[4096];

	snprintf(path, sizeof(path), "%.*s", (int)module->path_size, rec_module_path(module));
	if (jit_files_is_dump(path))
		vec_push(&m->dumps, module->module_id);
}

static bool is_dump(const struct jit_mappings *m, uint32_t module_id)
{
	size_t at = vec_count_front(&m->dumps, it, *it < module_id);

	return at < m->dumps.count && m->dumps.items[at] == module_id;
}

void jit_mappings_map(struct jit_mappings *m, struct live_process *process,
		      const struct rec_map *map)
{
	if (map->module_id == NO_REC_MODULE) {
		if (jit_files_memory(m->jit_files, process))
			process_roots_keep(m->roots, process);
	} else if (is_dump(m, map->module_id)) {
		jit_files_dump(m->jit_files, process, file_set_find(m->files, map->module_id));
	}
}

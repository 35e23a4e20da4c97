/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jit_mappings.h"

#include "lib/model/languages/language.h"
#include "lib/stream/record/records.h"

void jit_mappings_release(struct jit_mappings *m)
{
	vec_release(&m->dumps);
	vec_release(&m->spans);
}

/* The path of a module record is not terminated. */
void jit_mappings_module(struct jit_mappings *m, const struct rec_module *module)
{
	struct mapped_spans spans = {.module_id = module->module_id};
	char path[4096];

	if (module->rec.flags & MODULE_COMPLETED)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)module->path_size, rec_module_path(module));
	if (language_dump_is_path(path))
		vec_push(&m->dumps, module->module_id);
	else if (span_files_is_file(path, &spans.pid, &spans.tid))
		vec_push(&m->spans, spans);
}

static bool is_dump(const struct jit_mappings *m, uint32_t module_id)
{
	size_t at = vec_count_front(&m->dumps, it, *it < module_id);

	return at < m->dumps.count && m->dumps.items[at] == module_id;
}

static const struct mapped_spans *find_spans(const struct jit_mappings *m, uint32_t module_id)
{
	size_t at = vec_count_front(&m->spans, it, it->module_id < module_id);

	return at < m->spans.count && m->spans.items[at].module_id == module_id
		       ? &m->spans.items[at]
		       : NULL;
}

void jit_mappings_map(struct jit_mappings *m, struct live_process *process,
		      const struct rec_map *map)
{
	const struct mapped_spans *spans = find_spans(m, map->module_id);

	if (map->module_id != NO_REC_MODULE)
		jit_descriptors_map(m->descriptors, process, map);
	if (map->module_id == NO_REC_MODULE) {
		if (jit_files_memory(m->jit_files, process))
			process_roots_keep(m->roots, process);
		span_files_memory(m->span_files, process);
	} else if (spans) {
		span_files_map(m->span_files, process, spans->pid, spans->tid,
			       file_set_find(m->files, map->module_id));
	} else if (is_dump(m, map->module_id)) {
		jit_files_dump(m->jit_files, process, file_set_find(m->files, map->module_id));
	}
}

/* SPDX-License-Identifier: MIT */
#include "lib/live/code/jit_descriptors.h"

#include "lib/code/binary/variables.h"
#include "lib/stream/process/mapping.h"

#define DESCRIPTOR "__jit_debug_descriptor"
#define SEARCHES_MAX 5

/* A mapped file. Its variables are read when a process with generated code maps it. */
struct descriptor_file {
	bool is_read;
	struct variables variables;
};

struct descriptor_process {
	struct mapping_table *files; /* NULL: none */
	bool is_changed; /* since the last search */
};

struct jit_descriptors {
	const struct file_set *files;
	struct process_state state; /* holds a struct descriptor_process */
	VEC(struct descriptor_file) rows; /* by module id */
	uint64_t stamp;
};

static struct descriptor_process *process_of(const struct jit_descriptors *d,
					     struct live_process *process)
{
	return live_process_state(process, d->state);
}

static void drop_files(struct descriptor_process *row)
{
	if (row->files)
		mapping_table_drop(steal(row->files));
}

static void inherit(void *ctx, struct live_process *child, struct live_process *parent)
{
	struct descriptor_process *row = process_of(ctx, child);

	if (!parent || !process_of(ctx, parent)->files)
		return;
	row->files = mapping_table_hold(process_of(ctx, parent)->files);
	row->is_changed = true;
}

static void replace_program(void *ctx, struct live_process *process, uint64_t time)
{
	drop_files(process_of(ctx, process));
}

static void release(void *ctx, struct live_process *process)
{
	drop_files(process_of(ctx, process));
}

struct jit_descriptors *jit_descriptors_new(struct live_processes *processes,
					    const struct file_set *files)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct descriptor_process),
		.fork = inherit,
		.exec = replace_program,
		.release = release,
	};
	struct jit_descriptors *d = xcalloc(1, sizeof(*d));

	d->files = files;
	d->state = live_processes_listen(processes, &listener, d);
	return d;
}

void jit_descriptors_free(struct jit_descriptors *d)
{
	if (!d)
		return;
	vec_for_each(&d->rows, struct descriptor_file *, file)
		variables_release(&file->variables);
	vec_release(&d->rows);
	free(d);
}

void jit_descriptors_map(struct jit_descriptors *d, struct live_process *process,
			 const struct rec_map *map)
{
	struct descriptor_process *row = process_of(d, process);
	const struct mapping mapping = {map->start, map->end, map->file_offset, map->module_id};

	if (!row->files)
		row->files = mapping_table_new();
	row->is_changed |= mapping_table_insert(&row->files, &mapping, ++d->stamp);
}

/* Returns a file's variables, retrying files that are not open yet. */
static const struct variables *variables_of(struct jit_descriptors *d, uint32_t module_id)
{
	int fd = file_set_find(d->files, module_id);
	struct descriptor_file *file;

	if (module_id >= d->rows.count)
		vec_add_zeroed(&d->rows, module_id + 1 - d->rows.count);
	file = &d->rows.items[module_id];
	if (!file->is_read && fd >= 0) {
		file->is_read = true;
		variables_read(&file->variables, fd, DESCRIPTOR, JIT_DESCRIPTOR_SIZE);
	}
	return &file->variables;
}

static void add_list(struct jit_lists *lists, uint64_t addr)
{
	if (vec_find(&lists->rows, list, list->descriptor == addr))
		return;
	if (lists->rows.count < JIT_LISTS_MAX)
		vec_push(&lists->rows, (struct jit_list){.descriptor = addr});
}

static void search_variables(const struct variables *variables, uint64_t bias,
			     const struct jit_memory *memory, struct jit_search *search)
{
	search->constants_start = UINT64_MAX;
	search->constants_end = UINT64_MAX;
	vec_for_each(&variables->segments, const struct variable_segment *, segment) {
		uint64_t start = segment->vaddr + bias;

		search->constants_start = MIN(search->constants_start, start);
		if (segment->writable && start < search->constants_end)
			search->constants_end = start;
	}
	vec_for_each(&variables->segments, const struct variable_segment *, segment) {
		uint64_t start = segment->vaddr, end = start + segment->size;

		/* Constants come first in their segment. */
		if (start == variables->constants_start && end > variables->constants_end)
			start = variables->constants_end;
		if (segment->writable && end > start)
			jit_list_search(search, memory, start + bias, end + bias);
	}
}

/* Searches a process's files: for symbols or, with `search`, their variables. */
static void search_files(struct jit_descriptors *d, const struct mapping_table *files,
			 const struct jit_memory *memory, struct jit_lists *lists,
			 struct jit_search *search)
{
	uint32_t last = UINT32_MAX;

	vec_for_each(&files->rows, const struct mapping *, mapping) {
		const struct variables *variables = variables_of(d, mapping->module);
		uint64_t bias;

		if (!variables_find_bias(variables, mapping->start, mapping->file_offset, &bias))
			continue;
		if (!search && variables->vaddr)
			add_list(lists, variables->vaddr + bias);
		else if (search && mapping->module != last)
			search_variables(variables, bias, memory, search);
		last = mapping->module;
	}
}

void jit_descriptors_find(struct jit_descriptors *d, struct live_process *process,
			  const struct jit_memory *memory, struct jit_lists *lists)
{
	struct descriptor_process *row = process_of(d, process);
	struct jit_search search = {.left = JIT_SEARCH_BYTES, .tries = JIT_SEARCH_TRIES};

	if (!row->files)
		return;
	if (row->is_changed)
		search_files(d, row->files, memory, lists, NULL);
	row->is_changed = false;
	if (lists->rows.count || lists->searches == SEARCHES_MAX)
		return;
	lists->searches++;
	search_files(d, row->files, memory, lists, &search);
	if (search.found && !search.is_ambiguous)
		add_list(lists, search.found);
}

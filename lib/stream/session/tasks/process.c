/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/process.h"

void process_table_release(struct process_table *t)
{
	vec_for_each(&t->rows, struct process *, process) {
		mapping_table_drop(process->mappings);
		if (process->replaced)
			mapping_table_drop(process->replaced);
		vec_release(&process->users);
	}
	vec_release(&t->rows);
	index_release(&t->by_pid);
}

INDEX_HAS(pid_equal, struct process_table, rows, pid)

process_id process_table_find(const struct process_table *t, uint32_t pid)
{
	return index_find(&t->by_pid, hash_u64(pid), pid_equal, t, &pid);
}

process_id process_table_add(struct process_table *t, uint32_t pid, uint64_t start,
			     enum task_origin origin, struct mapping_table *mappings)
{
	process_id before = process_table_find(t, pid), id = (process_id)t->rows.count;
	struct process process = {
		.pid = pid,
		.start = start,
		.name = NO_STRING,
		.cgroup = NO_STRING,
		.container = NO_STRING,
		.resource = NO_STRING,
		.arguments = NO_STRING,
		.anon = NO_MODULE,
		.parent = NO_PROCESS,
		.parent_thread = NO_THREAD,
		.mappings = mappings,
		.main_thread = NO_THREAD,
		.last_thread = NO_THREAD,
		.first_user = NO_USER,
		.origin = (uint8_t)origin,
	};

	if (before != NO_PROCESS) {
		process.incarnation = t->rows.items[before].incarnation + 1;
		index_remove(&t->by_pid, hash_u64(pid), before);
	}
	vec_push(&t->rows, process);
	index_add(&t->by_pid, hash_u64(pid), id);
	return id;
}

void process_set_container(struct process *process, struct strings *strings,
			   const struct rec_container *container)
{
	size_t size = strnlen(container->cgroup, container->cgroup_size);
	const char *name = container->cgroup + size;
	const char *end = container->cgroup + container->cgroup_size;

	if (container->ns_pid)
		process->ns_pid = container->ns_pid;
	process->cgroup = size ? strings_intern_sized(strings, container->cgroup, size) : NO_STRING;
	process->container = end - name > 1 ? strings_intern_sized(strings, name + 1,
								   (size_t)(end - name - 1))
					    : NO_STRING;
}

void process_set_resource(struct process *process, struct strings *strings,
			  const struct rec_resource *resource)
{
	process->resource = resource->size ? strings_intern_sized(strings, resource->attributes,
								  resource->size)
					   : NO_STRING;
}

void process_inherit(struct process *process, const struct process *parent)
{
	if (process->cgroup == NO_STRING) {
		process->cgroup = parent->cgroup;
		process->container = parent->container;
	}
	if (process->resource == NO_STRING)
		process->resource = parent->resource;
	if (process->arguments == NO_STRING && !process->space_start)
		process->arguments = parent->arguments;
}

struct mapping_table *process_mappings_at(const struct process *process, uint64_t time)
{
	return process->replaced && time < process->space_start ? process->replaced
								: process->mappings;
}

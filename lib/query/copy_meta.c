/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/query/copy_rows.h"

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void copy_first(struct profile_meta *into, const struct profile_meta *from)
{
	into->product = copy(from->product);
	into->command_line = copy(from->command_line);
	into->os = copy(from->os);
	into->distribution = copy(from->distribution);
	into->abi = copy(from->abi);
	into->cpu_name = copy(from->cpu_name);
	into->root_pid = from->root_pid;
	into->physical_cpus = from->physical_cpus;
	into->logical_cpus = from->logical_cpus;
	into->memory_bytes = from->memory_bytes;
	into->interval_ns = from->interval_ns;
	into->duration_limit_ns = from->duration_limit_ns;
	into->buffer_bytes = from->buffer_bytes;
	into->symbolicated = from->symbolicated;
	vec_for_each(&from->features, char *const *, feature)
		vec_push(&into->features, xstrdup(*feature));
	vec_for_each(&from->filters, char *const *, filter)
		vec_push(&into->filters, xstrdup(*filter));
}

void row_copy_meta(struct profile *into, const struct profile *from, uint64_t offset_ns,
		   bool is_first, bool is_alone)
{
	const struct profile_meta *meta = &from->meta;
	uint64_t end = meta->end_ns > meta->start_ns ? meta->end_ns - meta->start_ns + offset_ns
						     : 0;

	if (end > into->meta.end_ns)
		into->meta.end_ns = end;
	if (is_first)
		copy_first(&into->meta, meta);
	else
		into->meta.symbolicated &= meta->symbolicated;
	vec_for_each(&meta->extra, const struct profile_extra *, extra) {
		if (is_alone)
			profile_add_extra(into, extra->section, extra->label, extra->format,
					  extra->value);
	}
	if (is_alone)
		into->overhead = from->overhead;
}

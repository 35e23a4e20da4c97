/* SPDX-License-Identifier: MIT */
/* Properties of every profile, whoever made it, which queries and writers rely on. */
#pragma once

#include "lib/format/format.h"
#include "tests/fuzz/input.h"

/* `none`: what stands for no row. */
static inline bool refers(uint32_t id, size_t count, uint32_t none)
{
	return id == none || id < count;
}

static inline void check_stacks(const struct profile *p)
{
	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *row = &p->stacks.rows.items[i];

		require(row->parent == NO_STACK || row->parent < i);
		require(row->frame < p->frames.rows.count);
	}
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		require(refers(frame->func, p->funcs.rows.count, NO_FUNC));
		require(refers(frame->module, p->modules.rows.count, NO_MODULE));
	}
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		require(refers(func->name, p->strings.rows.count, NO_STRING));
		require(refers(func->module, p->modules.rows.count, NO_MODULE));
		require(refers(func->file, p->source_files.rows.count, NO_SOURCE_FILE));
	}
}

static inline void check_thread(const struct profile *p, const struct profile_thread *row)
{
	uint64_t last = p->meta.start_ns;

	require(refers(row->name, p->strings.rows.count, NO_STRING));
	require(refers(row->process_name, p->strings.rows.count, NO_STRING));
	require(!row->end || row->end >= row->start);
	samples_for_each(&row->samples, sample) {
		require(sample->time >= last);
		require(sample->weight || (sample->stack == NO_STACK && !sample->event));
		require(sample->event < EVENT_COUNTS_MAX);
		require(refers(sample->stack, p->stacks.rows.count, NO_STACK));
		last = sample->time;
	}
}

static inline void check_values(const struct profile *p, const struct marker *marker)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&p->markers.schemas, schema);

	require(marker->first_value + schema->field_count < p->markers.values.count);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);

		require(!value->type || value->type == fields[i].type);
		require(value->type != FIELD_STRING ||
			refers(value->string, p->strings.rows.count, NO_STRING));
	}
}

static inline void check_markers(const struct profile *p, const struct profile_thread *row)
{
	vec_for_each(&row->markers, const struct marker *, marker) {
		require(marker->start <= marker->end);
		require(marker->schema < p->markers.schemas.rows.count);
		require(refers(marker->name, p->strings.rows.count, NO_STRING));
		check_values(p, marker);
	}
}

static inline void check_counters(const struct profile *p)
{
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		uint64_t last = 0;
		bool is_first = true;

		require(refers(counter->name, p->strings.rows.count, NO_STRING));
		require(counter->graph < COUNTER_GRAPH_COUNT);
		vec_for_each(&counter->samples, const struct counter_sample *, sample) {
			require(is_first || sample->time > last);
			last = sample->time;
			is_first = false;
		}
	}
}

static inline void check_profile(const struct profile *p)
{
	check_stacks(p);
	check_counters(p);
	vec_for_each(&p->markers.values, const struct marker_value *, value)
		require(value->type != FIELD_STACK ||
			refers(value->stack, p->stacks.rows.count, NO_STACK));
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		check_thread(p, row);
		check_markers(p, row);
	}
	if (p->threads.rows.count)
		require(profile_process_count(p) > 0);
}

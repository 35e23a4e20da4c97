/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/markers.h"

void markers_release(struct markers *m)
{
	schemas_release(&m->schemas);
	vec_release(&m->values);
}

struct marker markers_make(struct markers *m, schema_id schema, uint64_t start, uint64_t end)
{
	const struct schema *row = schemas_get(&m->schemas, schema);
	struct marker marker = {
		.start = start,
		.end = end,
		.schema = schema,
		.name = row->name,
		.category = NO_STRING,
		.first_value = (uint32_t)m->values.count,
	};

	vec_add_zeroed(&m->values, row->field_count + 1);
	return marker;
}

struct marker_value *marker_value(const struct markers *m, const struct marker *marker,
				  uint32_t field)
{
	return &m->values.items[marker->first_value + field];
}

stack_id marker_cause(const struct markers *m, const struct marker *marker)
{
	const struct schema *schema = schemas_get(&m->schemas, marker->schema);
	const struct marker_value *value = marker_value(m, marker, schema->field_count);

	return value->type == FIELD_STACK ? value->stack : NO_STACK;
}

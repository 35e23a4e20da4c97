/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/markers.h"

schema_id schema_text_intern(const struct marker_schema *text, struct schemas *schemas,
			     struct strings *strings)
{
	string_id label = strings_intern(strings, text->label);
	struct schema_field fields[MARKER_SCHEMA_FIELDS_MAX];
	struct schema schema = {
		.name = strings_intern(strings, text->name),
		.chart_label = label,
		.table_label = label,
		.tooltip_label = label,
		.shown = text->shown,
	};

	for (; schema.field_count < MARKER_SCHEMA_FIELDS_MAX; schema.field_count++) {
		const struct marker_schema_field *field = &text->fields[schema.field_count];

		if (!field->key)
			break;
		fields[schema.field_count] = (struct schema_field){
			.key = strings_intern(strings, field->key),
			.label = strings_intern(strings, field->label),
			.type = (uint8_t)field->type,
		};
	}
	return schemas_intern(schemas, &schema, fields);
}

schema_id schema_text_find(enum marker_id id, const struct schemas *schemas,
			   const struct strings *strings)
{
	const char *text = marker_schema(id)->name;
	string_id name = strings_find(strings, text, strlen(text));

	return name == NO_STRING ? NO_SCHEMA : schemas_find(schemas, name);
}

void schema_text_intern_first(struct schemas *schemas, struct strings *strings)
{
	for (enum marker_id id = 0; id < MARKERS_OF_SESSION; id++)
		schema_text_intern(marker_schema(id), schemas, strings);
}

static void schemas_release(struct schemas *s)
{
	vec_release(&s->rows);
	vec_release(&s->fields);
}

static bool is_same(const struct schemas *s, const struct schema *a, const struct schema *b,
		    const struct schema_field *b_fields)
{
	const struct schema_field *a_fields = schema_fields(s, a);

	if (a->chart_label != b->chart_label || a->table_label != b->table_label ||
	    a->tooltip_label != b->tooltip_label || a->shown != b->shown ||
	    a->field_count != b->field_count)
		return false;
	for (uint32_t i = 0; i < a->field_count; i++) {
		if (a_fields[i].key != b_fields[i].key || a_fields[i].label != b_fields[i].label ||
		    a_fields[i].type != b_fields[i].type)
			return false;
	}
	return true;
}

schema_id schemas_intern(struct schemas *s, const struct schema *schema,
			 const struct schema_field *fields)
{
	schema_id id = schemas_find(s, schema->name);
	struct schema row = *schema;

	if (id != NO_SCHEMA && !is_same(s, &s->rows.items[id], schema, fields))
		return NO_SCHEMA;
	for (uint32_t i = 0; id != NO_SCHEMA && i < schema->field_count; i++)
		s->fields.items[s->rows.items[id].first_field + i].personal |= fields[i].personal;
	if (id != NO_SCHEMA)
		return id;
	if (s->rows.count == MARKER_SCHEMAS_MAX || schema->field_count > SCHEMA_FIELDS_MAX)
		return NO_SCHEMA;
	row.first_field = (uint32_t)s->fields.count;
	for (uint32_t i = 0; i < schema->field_count; i++)
		vec_push(&s->fields, fields[i]);
	vec_push(&s->rows, row);
	return (schema_id)(s->rows.count - 1);
}

schema_id schemas_find(const struct schemas *s, string_id name)
{
	for (size_t i = 0; i < s->rows.count; i++) {
		if (s->rows.items[i].name == name)
			return (schema_id)i;
	}
	return NO_SCHEMA;
}

const struct schema *schemas_get(const struct schemas *s, schema_id id)
{
	return &s->rows.items[id];
}

const struct schema_field *schema_fields(const struct schemas *s, const struct schema *schema)
{
	return schema->field_count ? s->fields.items + schema->first_field : NULL;
}

uint32_t schema_find_field(const struct schemas *s, const struct schema *schema, string_id key)
{
	const struct schema_field *fields = schema_fields(s, schema);
	uint32_t i = 0;

	while (i < schema->field_count && fields[i].key != key)
		i++;
	return i;
}

const char *schema_group(uint32_t shown)
{
	static const char *const names[GROUP_COUNT] = {
		[GROUP_WAITS] = "Waits",	   [GROUP_DISK] = "Disk",
		[GROUP_SYSCALLS] = "System calls", [GROUP_PROCESS] = "Process",
		[GROUP_SIGNALS] = "Signals",	   [GROUP_OWN] = "Own",
		[GROUP_NETWORK] = "Network",
	};
	uint32_t group = (shown & SHOWN_GROUP_MASK) >> SHOWN_GROUP_SHIFT;

	return group < GROUP_COUNT ? names[group] : NULL;
}

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

void profile_counters_release(struct profile_counters *c)
{
	vec_for_each(&c->rows, struct counter *, counter)
		vec_release(&counter->samples);
	vec_release(&c->rows);
}

counter_id profile_counters_add(struct profile_counters *c, const struct counter *like)
{
	if (c->rows.count == COUNTERS_MAX)
		return NO_COUNTER;
	vec_push(&c->rows, *like);
	return (counter_id)(c->rows.count - 1);
}

void counter_add_sample(struct counter *counter, uint64_t time, int64_t delta)
{
	const struct counter_sample sample = {time, delta};
	size_t count = counter->samples.count, at = count;

	if (count && counter->samples.items[count - 1].time >= time)
		at = vec_count_front(&counter->samples, it, it->time < time);
	if (at < count && counter->samples.items[at].time == time) {
		counter->samples.items[at].delta = counter_add(counter->samples.items[at].delta,
							       delta);
		return;
	}
	vec_push(&counter->samples, sample);
	memmove(counter->samples.items + at + 1, counter->samples.items + at,
		(count - at) * sizeof(*counter->samples.items));
	counter->samples.items[at] = sample;
}

size_t counter_halve(struct counter *counter)
{
	struct counter_sample *samples = counter->samples.items;
	size_t count = counter->samples.count, kept = count != 0;

	for (size_t i = 1; i < count; i += 2) {
		struct counter_sample sample = samples[i];

		if (i + 1 < count) {
			sample.time = samples[i + 1].time;
			sample.delta = counter_add(sample.delta, samples[i + 1].delta);
		}
		samples[kept++] = sample;
	}
	counter->samples.count = kept;
	vec_fit(&counter->samples);
	return count - kept;
}

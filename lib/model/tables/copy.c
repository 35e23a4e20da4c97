/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/copy.h"

static string_id text(const struct copy_rules *rules, string_id id)
{
	return id == NO_STRING ? NO_STRING : rules->text(rules->ctx, id);
}

static uint64_t moment(const struct copy_rules *rules, uint64_t time)
{
	return rules->time ? rules->time(rules->ctx, time) : time;
}

/* 0 means "no time". */
static uint64_t moment_if_any(const struct copy_rules *rules, uint64_t time)
{
	return time ? moment(rules, time) : 0;
}

static stack_id stack(const struct copy_rules *rules, stack_id id)
{
	return id == NO_STACK || !rules->stack ? NO_STACK : rules->stack(rules->ctx, id);
}

struct profile_thread copy_thread_row(const struct profile_thread *from,
				      const struct copy_rules *rules)
{
	struct profile_thread row = *from;

	row.name = text(rules, from->name);
	row.process_name = text(rules, from->process_name);
	row.process_label = text(rules, from->process_label);
	row.arguments = text(rules, from->arguments);
	row.start = moment(rules, from->start);
	row.end = moment_if_any(rules, from->end);
	row.process_start = moment(rules, from->process_start);
	row.process_end = moment_if_any(rules, from->process_end);
	memset(&row.samples, 0, sizeof(row.samples));
	memset(&row.markers, 0, sizeof(row.markers));
	memset(&row.allocations, 0, sizeof(row.allocations));
	return row;
}

struct counter copy_counter_row(const struct counter *from, const struct copy_rules *rules)
{
	struct counter row = *from;

	row.name = text(rules, from->name);
	row.category = text(rules, from->category);
	row.description = text(rules, from->description);
	row.label = text(rules, from->label);
	row.unit = text(rules, from->unit);
	row.color = text(rules, from->color);
	memset(&row.samples, 0, sizeof(row.samples));
	return row;
}

struct allocation copy_allocation_row(const struct allocation *from, const struct copy_rules *rules)
{
	struct allocation row = *from;

	row.time = moment(rules, from->time);
	row.freed = moment_if_any(rules, from->freed);
	row.stack = stack(rules, from->stack);
	return row;
}

void copy_schema_texts(struct schema *row, struct schema_field *fields,
		       const struct copy_rules *rules)
{
	for (uint32_t i = 0; i < row->field_count; i++) {
		fields[i].key = text(rules, fields[i].key);
		fields[i].label = text(rules, fields[i].label);
	}
	row->name = text(rules, row->name);
	row->chart_label = text(rules, row->chart_label);
	row->table_label = text(rules, row->table_label);
	row->tooltip_label = text(rules, row->tooltip_label);
}

struct marker copy_marker_row(schema_id schema, const struct marker *from,
			      const struct copy_rules *rules)
{
	struct marker row = *from;

	row.schema = schema;
	row.start = moment(rules, from->start);
	row.end = moment(rules, from->end);
	row.name = text(rules, from->name);
	row.category = text(rules, from->category);
	row.cause_time = moment_if_any(rules, from->cause_time);
	return row;
}

struct marker_value copy_marker_value(const struct marker_value *from,
				      const struct copy_rules *rules)
{
	struct marker_value value = *from;

	if (value.type == FIELD_STRING) {
		value.string = text(rules, value.string);
	} else if (value.type == FIELD_STACK) {
		value.stack = stack(rules, value.stack);
		value.time = moment_if_any(rules, value.time);
	} else if (value.type == FIELD_TIME) {
		value.number = moment(rules, value.number);
	}
	return value;
}

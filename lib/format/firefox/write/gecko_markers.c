/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/format/firefox/write/gecko_internal.h"

enum { PHASE_INSTANT, PHASE_INTERVAL };

/* Formats of fields; stacks are left out. */
static const char *const formats[FIELD_TYPE_COUNT] = {
	[FIELD_STRING] = "string",  [FIELD_INTEGER] = "integer",
	[FIELD_BYTES] = "bytes",    [FIELD_DURATION] = "duration",
	[FIELD_TIME] = "time",	    [FIELD_PERCENTAGE] = "percentage",
	[FIELD_PROCESS_ID] = "pid", [FIELD_THREAD_ID] = "tid",
};

size_t gecko_category_count(const struct profile *p)
{
	return p->categories.count ? p->categories.count : CATEGORY_COUNT;
}

const char *gecko_category_name(const struct profile *p, size_t category)
{
	return p->categories.count ? p->categories.items[category].name
				   : categories[category]->name;
}

static void write_places(struct jsonw *w, uint32_t shown)
{
	static const char *const places[] = {"marker-chart",	"marker-table", "timeline-overview",
					     "timeline-memory", "timeline-ipc", "timeline-fileio",
					     "timeline-network"};

	jsonw_key(w, "display");
	jsonw_array_begin(w);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (shown >> i & 1)
			jsonw_cstring(w, places[i]);
	}
	jsonw_array_end(w);
}

static void write_schema(const struct profile *p, struct jsonw *w, const struct schema *schema)
{
	const struct schema_field *fields = schema_fields(&p->markers.schemas, schema);
	const struct {
		const char *key;
		string_id label;
	} labels[] = {{"chartLabel", schema->chart_label},
		      {"tableLabel", schema->table_label},
		      {"tooltipLabel", schema->tooltip_label}};

	jsonw_object_begin(w);
	gecko_key_string(w, "name", strings_get(&p->strings, schema->name));
	for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++) {
		if (labels[i].label != NO_STRING)
			gecko_key_string(w, labels[i].key,
					 strings_get(&p->strings, labels[i].label));
	}
	write_places(w, schema->shown);
	jsonw_key(w, "data");
	jsonw_array_begin(w);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (!formats[fields[i].type])
			continue;
		jsonw_object_begin(w);
		gecko_key_string(w, "key", strings_get(&p->strings, fields[i].key));
		if (fields[i].label != NO_STRING)
			gecko_key_string(w, "label", strings_get(&p->strings, fields[i].label));
		gecko_key_string(w, "format", formats[fields[i].type]);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

void gecko_write_schemas(const struct gecko *g, struct jsonw *w)
{
	jsonw_key(w, "markerSchema");
	jsonw_array_begin(w);
	vec_for_each(&g->profile->markers.schemas.rows, const struct schema *, schema)
		write_schema(g->profile, w, schema);
	jsonw_array_end(w);
}

static void write_value(const struct gecko *g, struct jsonw *w, const char *key,
			const struct marker_value *value)
{
	const struct strings *strings = &g->profile->strings;
	char pid[24];

	if (!formats[value->type] || (value->type == FIELD_STRING && value->string == NO_STRING))
		return;
	jsonw_key(w, key);
	switch (value->type) {
	case FIELD_STRING:
		jsonw_string(w, strings_get(strings, value->string),
			     strings_size(strings, value->string));
		break;
	case FIELD_INTEGER:
	case FIELD_THREAD_ID:
		jsonw_i64(w, (int64_t)value->number);
		break;
	case FIELD_PROCESS_ID:
		snprintf(pid, sizeof(pid), "%" PRIu64, value->number);
		jsonw_cstring(w, pid);
		break;
	case FIELD_TIME:
		jsonw_ms(w, gecko_time(g, value->number));
		break;
	case FIELD_DURATION:
	case FIELD_PERCENTAGE:
		jsonw_ms(w, value->number);
		break;
	default:
		jsonw_u64(w, value->number);
	}
}

/* A cause is a thread of its own with one sample. */
static void write_cause(struct gecko *g, struct jsonw *w, const struct marker *marker)
{
	static const char *const names[] = {"stack", "time", NULL};
	stack_id stack = marker_cause(&g->profile->markers, marker);

	if (stack == NO_STACK)
		return;
	jsonw_key(w, "stack");
	jsonw_object_begin(w);
	gecko_key_string(w, "name", "SyncProfile");
	if (marker->cause_tid) {
		jsonw_key(w, "tid");
		jsonw_u64(w, marker->cause_tid);
	}
	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	gecko_schema(w, names);
	jsonw_array_begin(w);
	jsonw_array_begin(w);
	jsonw_u64(w, gecko_stack(g, stack, true));
	jsonw_ms(w, gecko_time(g, marker->cause_time ? marker->cause_time : marker->start));
	jsonw_array_end(w);
	jsonw_array_end(w);
	jsonw_object_end(w);
	jsonw_object_end(w);
}

static void write_data(struct gecko *g, struct jsonw *w, const struct marker *marker)
{
	const struct markers *markers = &g->profile->markers;
	const struct schema *schema = schemas_get(&markers->schemas, marker->schema);
	const struct schema_field *fields = schema_fields(&markers->schemas, schema);
	const struct strings *strings = &g->profile->strings;

	jsonw_object_begin(w);
	gecko_key_string(w, "type", strings_get(strings, schema->name));
	for (uint32_t i = 0; i < schema->field_count; i++)
		write_value(g, w, strings_get(strings, fields[i].key),
			    marker_value(markers, marker, i));
	write_cause(g, w, marker);
	jsonw_object_end(w);
}

static size_t category_of(const struct profile *p, const struct marker *marker)
{
	const char *group = schema_group(schemas_get(&p->markers.schemas, marker->schema)->shown);
	const char *name = marker->category != NO_STRING
				   ? strings_get(&p->strings, marker->category)
			   : group ? group
				   : "";
	size_t i = 0;

	while (i < gecko_category_count(p) && strcmp(gecko_category_name(p, i), name) != 0)
		i++;
	return i < gecko_category_count(p) ? i : 0;
}

static void write_marker(struct gecko *g, struct jsonw *w, const struct marker *marker)
{
	const struct profile *p = g->profile;
	bool is_interval = marker->end > marker->start;

	jsonw_array_begin(w);
	jsonw_u64(w, gecko_string(g, strings_get(&p->strings, marker->name)));
	jsonw_ms(w, gecko_time(g, marker->start));
	if (is_interval)
		jsonw_ms(w, gecko_time(g, marker->end));
	else
		jsonw_null(w);
	jsonw_u64(w, is_interval ? PHASE_INTERVAL : PHASE_INSTANT);
	jsonw_u64(w, category_of(p, marker));
	write_data(g, w, marker);
	jsonw_array_end(w);
}

void gecko_write_markers(struct gecko *g, struct jsonw *w, const struct profile_thread *thread)
{
	static const char *const names[] = {"name",	"startTime", "endTime", "phase",
					    "category", "data",	     NULL};

	jsonw_key(w, "markers");
	jsonw_object_begin(w);
	gecko_schema(w, names);
	jsonw_array_begin(w);
	vec_for_each(&thread->markers, const struct marker *, marker)
		write_marker(g, w, marker);
	jsonw_array_end(w);
	jsonw_object_end(w);
}

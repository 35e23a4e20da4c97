/* SPDX-License-Identifier: MIT */
#include "lib/session/own_markers.h"

struct own_field {
	const char *key, *label; /* NULL ends the list */
	enum field_type type;
};

static const struct {
	const char *name, *label;
	struct own_field fields[4];
} rows[OWN_MARKER_COUNT] = {
	[OWN_EXEC] = {"exec",
		      "exec {marker.data.program} {marker.data.arguments}",
		      {{"program", "Program", FIELD_STRING},
		       {"arguments", "Arguments", FIELD_STRING},
		       {"folder", "Folder", FIELD_STRING}}},
	[OWN_RENAME] = {"rename",
			"renamed to {marker.data.newName}",
			{{"newName", "New name", FIELD_STRING}}},
	[OWN_CGROUP] = {"cgroup",
			"control group {marker.data.path}",
			{{"path", "Path", FIELD_STRING}}},
	[OWN_LOST] = {"lost samples",
		      "{marker.data.count} samples lost on CPU {marker.data.cpu}: "
		      "{marker.data.reason}",
		      {{"count", "Samples lost", FIELD_INTEGER},
		       {"cpu", "CPU", FIELD_INTEGER},
		       {"reason", "Reason", FIELD_STRING}}},
	[OWN_LOST_EVENTS] = {"lost events",
			     "{marker.data.count} events lost on CPU {marker.data.cpu}: "
			     "{marker.data.reason}",
			     {{"count", "Events lost", FIELD_INTEGER},
			      {"cpu", "CPU", FIELD_INTEGER},
			      {"reason", "Reason", FIELD_STRING}}},
	[OWN_THROTTLED] = {"throttled",
			   "CPU {marker.data.cpu} was not sampled: {marker.data.event}",
			   {{"count", "How often", FIELD_INTEGER},
			    {"cpu", "CPU", FIELD_INTEGER},
			    {"event", "Event", FIELD_STRING}}},
};

void own_markers_register(struct profile *p)
{
	struct strings *strings = &p->strings;

	for (size_t i = 0; i < OWN_MARKER_COUNT; i++) {
		string_id label = strings_intern(strings, rows[i].label);
		struct schema_field fields[4];
		struct schema schema = {
			.name = strings_intern(strings, rows[i].name),
			.chart_label = label,
			.table_label = label,
			.tooltip_label = label,
			.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW,
		};

		for (const struct own_field *field = rows[i].fields; field->key; field++)
			fields[schema.field_count++] = (struct schema_field){
				.key = strings_intern(strings, field->key),
				.label = strings_intern(strings, field->label),
				.type = (uint8_t)field->type,
			};
		schemas_intern(&p->markers.schemas, &schema, fields);
	}
}

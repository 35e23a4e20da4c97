/* SPDX-License-Identifier: MIT */
#include "lib/session/tasks/own_markers.h"

#include "lib/profile/schema_text.h"

static const struct schema_text rows[OWN_MARKER_COUNT] = {
	[OWN_EXEC] = {"exec",
		      "{marker.data.program} {marker.data.arguments}",
		      {{"program", "Program", FIELD_STRING},
		       {"arguments", "Arguments", FIELD_STRING},
		       {"folder", "Folder", FIELD_STRING}},
		      .group = GROUP_PROCESS},
	[OWN_RENAME] = {"rename",
			"to {marker.data.newName}",
			{{"newName", "New name", FIELD_STRING}},
			.group = GROUP_PROCESS},
	[OWN_CGROUP] = {"cgroup",
			"{marker.data.path}",
			{{"path", "Path", FIELD_STRING}},
			.group = GROUP_PROCESS},
	[OWN_LOST] = {"lost samples",
		      "{marker.data.count} on CPU {marker.data.cpu}: {marker.data.reason}",
		      {{"count", "Samples lost", FIELD_INTEGER},
		       {"cpu", "CPU", FIELD_INTEGER},
		       {"reason", "Reason", FIELD_STRING}},
		      .group = GROUP_OWN},
	[OWN_LOST_EVENTS] = {"lost events",
			     "{marker.data.count} on CPU {marker.data.cpu}: {marker.data.reason}",
			     {{"count", "Events lost", FIELD_INTEGER},
			      {"cpu", "CPU", FIELD_INTEGER},
			      {"reason", "Reason", FIELD_STRING}},
			     .group = GROUP_OWN},
	[OWN_THROTTLED] = {"throttled",
			   "CPU {marker.data.cpu} was not sampled: {marker.data.event}",
			   {{"count", "How often", FIELD_INTEGER},
			    {"cpu", "CPU", FIELD_INTEGER},
			    {"event", "Event", FIELD_STRING}},
			   .group = GROUP_OWN},
};

void own_markers_register(struct profile *p)
{
	for (size_t i = 0; i < OWN_MARKER_COUNT; i++)
		schema_text_intern(&rows[i], &p->markers.schemas, &p->strings);
}

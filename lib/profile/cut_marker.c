/* SPDX-License-Identifier: MIT */
#include "lib/profile/cut_marker.h"

static thread_id choose_thread(const struct profile *p)
{
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		if (thread->is_main && thread->pid == p->meta.root_pid)
			return id;
	}
	return 0;
}

void cut_marker_add(struct profile *p, uint64_t time)
{
	string_id label = strings_intern(&p->strings, "the recording was cut here");
	const struct schema schema = {
		.name = strings_intern(&p->strings, "cut"),
		.chart_label = label,
		.table_label = label,
		.tooltip_label = label,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW,
	};
	schema_id id = schemas_intern(&p->markers.schemas, &schema, NULL);
	struct profile_thread *thread;

	if (id == NO_SCHEMA || !p->threads.rows.count)
		return;
	thread = threads_get(&p->threads, choose_thread(p));
	vec_push(&thread->markers, markers_make(&p->markers, id, time, time));
}

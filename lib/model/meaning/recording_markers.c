/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/recording_markers.h"

#include "lib/model/tables/schema_text.h"

static thread_id choose_thread(const struct profile *p)
{
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		if (thread->is_main && thread->pid == p->meta.root_pid)
			return id;
	}
	return 0;
}

static void add(struct profile *p, enum marker_id kind, uint64_t start, uint64_t end)
{
	schema_id id = schema_text_intern(marker_schema(kind), &p->markers.schemas, &p->strings);
	struct profile_thread *thread;

	if (id == NO_SCHEMA || !p->threads.rows.count)
		return;
	thread = threads_get(&p->threads, choose_thread(p));
	vec_push(&thread->markers, markers_make(&p->markers, id, start, end));
}

void cut_marker_add(struct profile *p, uint64_t time)
{
	add(p, MARKER_CUT, time, time);
}

void pause_marker_add(struct profile *p, uint64_t start, uint64_t end)
{
	add(p, MARKER_PAUSE, start, end);
}

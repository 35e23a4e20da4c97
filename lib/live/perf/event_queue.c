/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/event_queue.h"

/* Paths of returned events are freed once they exceed this many bytes. */
#define OLD_PATHS_MAX (1u << 20)

void event_queue_release(struct event_queue *t)
{
	vec_for_each(&t->rows, struct queued_event *, queued)
		free(queued->copy);
	vec_release(&t->rows);
	strbuf_release(&t->paths);
}

void event_queue_add(struct event_queue *t, const struct map_event *event, struct rec_copy *copy)
{
	struct queued_event queued = {
		.event = *event,
		.number = t->added++,
		.path = t->paths.size,
		.copy = copy,
	};

	vec_push(&t->rows, queued);
	if (event->path)
		strbuf_add(&t->paths, event->path, strlen(event->path) + 1);
}

ORDER(compare_queued, struct queued_event,
      COMPARE(a->event.time, b->event.time) ?: COMPARE(a->number, b->number))

static void take(struct event_queue *t, const struct queued_event *queued, event_queue_fn *fn,
		 void *ctx)
{
	struct map_event event = queued->event;

	event.path = event.path ? t->paths.text + queued->path : "";
	fn(ctx, &event, queued->copy);
}

/*
 * Drops paths even while events are queued: under load, the queue is never empty, and paths are
 * only ever added.
 */
static void drop_old_paths(struct event_queue *t)
{
	struct strbuf kept = {0};

	if (!t->rows.count)
		strbuf_reset(&t->paths);
	if (t->paths.size <= OLD_PATHS_MAX)
		return;
	vec_for_each(&t->rows, struct queued_event *, queued) {
		const char *path = t->paths.text + queued->path;

		queued->path = kept.size;
		if (queued->event.path)
			strbuf_add(&kept, path, strlen(path) + 1);
	}
	strbuf_release(&t->paths);
	t->paths = kept;
}

void event_queue_take(struct event_queue *t, uint64_t before, event_queue_fn *fn, void *ctx)
{
	size_t count = 0;

	vec_sort(&t->rows, compare_queued);
	while (count < t->rows.count && t->rows.items[count].event.time < before)
		take(t, &t->rows.items[count++], fn, ctx);
	t->rows.count -= count;
	if (t->rows.count)
		memmove(t->rows.items, t->rows.items + count,
			t->rows.count * sizeof(*t->rows.items));
	drop_old_paths(t);
}

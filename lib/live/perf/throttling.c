/* SPDX-License-Identifier: MIT */
#include "lib/live/perf/throttling.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib/base/log.h"
#include "lib/stream/record/record.h"

void throttling_init(struct throttling *t, record_sink_fn *sink, void *ctx)
{
	*t = (struct throttling){.sink = sink, .ctx = ctx};
}

void throttling_release(struct throttling *t)
{
	vec_release(&t->rows);
	index_release(&t->by_id);
}

void throttling_watch(struct throttling *t, int fd, uint32_t event, const struct map_ring *ring)
{
	uint64_t id;

	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) ||
	    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, map_ring_fd(ring)))
		log_info("CPU %u: throttling of sampling will not be noticed: %s",
			 map_ring_cpu(ring), strerror(errno));
	else
		throttling_add(t, id, event, map_ring_cpu(ring));
}

/* Reuses rows, so that CPUs that come and go all day do not add rows. */
static uint32_t free_row(struct throttling *t)
{
	for (uint32_t i = 0; i < t->rows.count; i++) {
		if (!t->rows.items[i].id)
			return i;
	}
	vec_add_zeroed(&t->rows, 1);
	return (uint32_t)t->rows.count - 1;
}

void throttling_add(struct throttling *t, uint64_t id, uint32_t event, uint32_t cpu)
{
	uint32_t row = free_row(t);

	t->rows.items[row] = (struct throttled_event){
		.id = id,
		.event = event,
		.cpu = (uint16_t)cpu,
	};
	index_add(&t->by_id, hash_u64(id), row);
}

static bool id_equal(const void *table, uint32_t id, const void *key)
{
	const struct throttling *t = table;

	return t->rows.items[id].id == *(const uint64_t *)key;
}

static void end(struct throttling *t, struct throttled_event *row, uint64_t time)
{
	struct rec_throttled rec = {.event = row->event};

	if (!row->since)
		return;
	if (time > row->since)
		rec.duration = time - row->since;
	if (rec.duration > THROTTLED_MAX_NS)
		rec.duration = THROTTLED_MAX_NS;
	record_init(&rec.rec, REC_THROTTLED, sizeof(rec), row->since + rec.duration, 0, 0);
	rec.rec.cpu = row->cpu;
	row->since = 0;
	t->sink(t->ctx, &rec.rec);
}

void throttling_take(struct throttling *t, const struct map_event *event)
{
	uint32_t id = index_find(&t->by_id, hash_u64(event->event_id), id_equal, t,
				 &event->event_id);
	struct throttled_event *row;

	if (id == INDEX_NONE)
		return;
	row = &t->rows.items[id];
	if (event->kind == MAP_EVENT_SAMPLED) {
		end(t, row, event->time);
		return;
	}
	/* The end of the previous interval was lost: its duration is unknown. */
	end(t, row, row->since);
	row->since = event->time;
}

void throttling_forget(struct throttling *t, uint32_t cpu, uint64_t time)
{
	for (uint32_t i = 0; i < t->rows.count; i++) {
		struct throttled_event *row = &t->rows.items[i];

		if (!row->id || row->cpu != cpu)
			continue;
		end(t, row, time);
		index_remove(&t->by_id, hash_u64(row->id), i);
		row->id = 0;
	}
}

void throttling_finish(struct throttling *t, uint64_t time)
{
	vec_for_each(&t->rows, struct throttled_event *, row)
		end(t, row, time);
}

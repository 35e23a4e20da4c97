/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/counters/counter_values.h"

#include "lib/stream/record/records.h"

static uint32_t announce(struct counter_values *t, const struct counter_schema *schema,
			 uint32_t pid, uint64_t time)
{
	const char *texts[] = {schema->name, schema->category, schema->description,
			       schema->name, schema->unit,     schema->color};
	struct rec_counter_info sizes = {
		.name_size = (__u16)strlen(texts[0]),
		.category_size = (__u16)strlen(texts[1]),
		.description_size = (__u16)strlen(texts[2]),
		.label_size = (__u16)strlen(texts[3]),
		.unit_size = (__u16)strlen(texts[4]),
		.color_size = (__u16)strlen(texts[5]),
	};
	size_t size = rec_counter_info_size(&sizes);
	_cleanup_free_ struct rec_counter_info *rec = xcalloc(1, size);
	char *to = rec->text;

	*rec = sizes;
	record_init(&rec->rec, REC_COUNTER_INFO, size, time, pid, pid);
	rec->counter = ++t->last_id;
	rec->graph = (__u8)schema->graph;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		memcpy(to, texts[i], strlen(texts[i]));
		to += strlen(texts[i]);
	}
	t->sink(t->ctx, &rec->rec);
	return rec->counter;
}

static void send_delta(const struct counter_values *t, struct sent_counter *counter, uint64_t time,
		       int64_t delta)
{
	struct rec_counter rec = {.counter = counter->id, .delta = delta};

	counter->row_ns = time;
	record_init(&rec.rec, REC_COUNTER, sizeof(rec), time, 0, 0);
	t->sink(t->ctx, &rec.rec);
}

void counter_values_send(struct counter_values *t, struct sent_counter *counter,
			 const struct counter_schema *schema, uint32_t pid, int64_t value,
			 uint64_t now)
{
	bool is_level = schema->graph == COUNTER_LEVEL, was_known = counter->is_known;
	int64_t delta = (int64_t)((uint64_t)value - (uint64_t)counter->sent);

	counter->sent = value;
	counter->is_known = true;
	if (!was_known)
		counter->id = announce(t, schema, pid, now);
	/* The first change of a rate dates from the previous reading. */
	counter->is_flat |= !was_known && !is_level;
	if (!was_known && !is_level)
		return;
	if (!is_level && (delta < 0 || t->is_resuming))
		delta = 0;
	if (!delta) {
		/* Charts draw a line from row to row: a rate of 0 needs a row at its start. */
		if (!is_level && !counter->is_flat)
			send_delta(t, counter, now, 0);
		counter->is_flat = true;
		return;
	}
	if (counter->is_flat && counter->row_ns < t->last_ns)
		send_delta(t, counter, t->last_ns, 0);
	counter->is_flat = false;
	send_delta(t, counter, now, delta);
}

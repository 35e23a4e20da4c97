/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_untimed.h"

#include <linux/perf_event.h>

#include "lib/base/clock.h"
#include "lib/recording/perf_data/perf_sample.h"

/* Exits by thread: key is the thread's id, value the record's number. */
struct exits {
	VEC(struct radix_row) rows;
};

static const char *body_of(const void *record)
{
	return (const char *)record + sizeof(struct perf_event_header);
}

static void add_exit(struct exits *exits, const struct perf_file *f, size_t row)
{
	const void *record = perf_store_get(&f->store, row);
	struct perf_head head = perf_file_head(f, record);
	struct ordered_bytes b = ordered_bytes_of(
		body_of(record), head.size - sizeof(struct perf_event_header), f->is_swapped);
	uint32_t tid;

	if (head.type != PERF_RECORD_EXIT || !clock_can_show(f->store.order.items[row].key))
		return;
	bytes_skip(&b.bytes, 8); /* pid and parent pid */
	tid = ordered_u32(&b);
	if (!b.bytes.failed)
		vec_push(&exits->rows, (struct radix_row){tid, (uint32_t)row});
}

/* Returns the thread of a sample. False for any other record and for damage. */
static bool read_thread(const struct perf_file *f, const void *record, uint32_t *tid)
{
	struct perf_head head = perf_file_head(f, record);
	uint32_t attr = perf_file_attr(f, record);
	struct perf_sample sample;

	if (head.type != PERF_RECORD_SAMPLE || attr >= f->attrs.rows.count ||
	    !perf_sample_read(&sample, &f->attrs.rows.items[attr], body_of(record),
			      head.size - sizeof(struct perf_event_header), f->is_swapped))
		return false;
	*tid = sample.tid;
	return true;
}

static uint64_t find_time(const struct exits *exits, const struct perf_file *f, const void *record)
{
	const struct radix_row *exit;
	uint64_t time;
	uint32_t tid;
	size_t until;

	if (!read_thread(f, record, &tid))
		return f->end_ns;
	until = vec_count_front(&exits->rows, it, it->key <= tid);
	exit = until ? &exits->rows.items[until - 1] : NULL;
	if (!exit || exit->key != tid)
		return f->end_ns;
	time = f->store.order.items[exit->value].key;
	return time ? time - 1 : 0;
}

void perf_untimed_place(struct perf_file *f)
{
	struct exits exits = {0};
	bool is_needed = false;

	vec_for_each(&f->store.order, const struct radix_row *, it)
		is_needed |= it->key == CLOCK_NO_TIME;
	for (size_t row = 0; is_needed && row < f->store.order.count; row++)
		add_exit(&exits, f, row);
	radix_sort(exits.rows.items, exits.rows.count);
	for (size_t row = 0; is_needed && row < f->store.order.count; row++) {
		struct radix_row *it = &f->store.order.items[row];

		if (it->key == CLOCK_NO_TIME)
			it->key = find_time(&exits, f, perf_store_get(&f->store, row));
	}
	vec_release(&exits.rows);
}

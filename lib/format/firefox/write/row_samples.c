/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/firefox_rows.h"

#include "lib/base/alloc.h"

void sample_buffer_release(struct sample_buffer *b)
{
	vec_release(&b->samples);
	vec_release(&b->times);
}

static void copy_event(struct sample_buffer *b, const struct profile_thread *thread, uint8_t event)
{
	samples_for_each(&thread->samples, sample) {
		if (sample->event == event)
			vec_push(&b->samples, *sample);
	}
}

/* Drops the rows at which threads begin: one would end the stack of another thread. */
static void drop_beginnings(struct sample_buffer *b)
{
	size_t kept = 0;

	vec_for_each(&b->samples, const struct sample *, sample) {
		if (sample->weight || sample->cpu_delta)
			b->samples.items[kept++] = *sample;
	}
	b->samples.count = kept;
}

/* Sorts by time; keeps the order of equal times. */
static void sort_samples(struct sample_buffer *b)
{
	size_t count = b->samples.count;
	struct sample *sorted;

	vec_clear(&b->times);
	for (size_t i = 0; i < count; i++)
		vec_push(&b->times, (struct radix_row){b->samples.items[i].time, (uint32_t)i});
	if (!count)
		return;
	radix_sort(b->times.items, count);
	sorted = xcalloc(count, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = b->samples.items[b->times.items[i].value];
	free(b->samples.items);
	b->samples.items = sorted;
	b->samples.capacity = count;
}

/*
 * Time that a tick stands for, during which its CPU was busy. The thread's own delta does not fit:
 * it includes time on other CPUs, and is 0 for a new thread.
 */
static uint32_t busy_ns(uint64_t interval, uint32_t weight)
{
	uint64_t most = weight ? UINT32_MAX / weight : UINT32_MAX;

	return interval < most ? (uint32_t)(interval * weight) : UINT32_MAX;
}

static void copy_cpu(const struct firefox_rows *r, const struct firefox_row *row,
		     struct sample_buffer *b)
{
	uint64_t excess = 0;

	for (size_t i = row->first; i < row->first + row->count; i++) {
		const struct cpu_sample *from = &r->cpu_samples.items[i];

		vec_push(&b->samples,
			 (struct sample){
				 .time = from->time,
				 .stack = from->stack,
				 .weight = from->weight,
				 .cpu_delta = busy_ns(r->profile->meta.interval_ns, from->weight),
				 .cpu = (uint16_t)row->tid,
			 });
	}
	sort_samples(b);
	sample_rows_settle(b->samples.items, b->samples.count, 0, &excess);
}

struct sample_run firefox_row_samples(const struct firefox_rows *r, const struct firefox_row *row,
				      struct sample_buffer *buffer)
{
	const struct profile_thread *threads = r->profile->threads.rows.items;
	const thread_id *members = r->members.items + row->first;

	/* Common case: few rows, and no other events, so no copy. */
	if (row->kind != ROW_CPU && row->count == 1 && row->events == 1ull << row->event &&
	    !threads[*members].samples.closed)
		return (struct sample_run){threads[*members].samples.open.items,
					   threads[*members].samples.open.count};
	vec_clear(&buffer->samples);
	if (row->kind == ROW_CPU) {
		copy_cpu(r, row, buffer);
	} else {
		for (size_t i = 0; i < row->count; i++)
			copy_event(buffer, &threads[members[i]], row->event);
		if (row->count > 1) {
			drop_beginnings(buffer);
			sort_samples(buffer);
		}
	}
	return (struct sample_run){buffer->samples.items, buffer->samples.count};
}

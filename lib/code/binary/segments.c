/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/segments.h"

/* Sorts outer ranges before inner ones. */
ORDER(compare, struct interval,
      COMPARE(a->start, b->start) ?: COMPARE(b->end, a->end) ?: COMPARE(a->rank, b->rank))

static void sort(struct intervals *intervals)
{
	const struct interval *rows = intervals->rows.items;
	size_t count = intervals->rows.count;

	/* Skip sorting if the ranges are in order, as usual in compilers' and linkers' output. */
	for (size_t i = 1; i < count; i++) {
		if (compare(&rows[i - 1], &rows[i]) > 0) {
			qsort(intervals->rows.items, count, sizeof(*rows), compare);
			return;
		}
	}
}

static void add(struct segments *s, uint64_t start, uint32_t id)
{
	if (s->rows.count && vec_last(&s->rows).start == start)
		s->rows.count--;
	if (s->rows.count ? vec_last(&s->rows).id != id : id != NO_SEGMENT)
		vec_push(&s->rows, (struct segment){.start = start, .id = id});
}

/* Emits the innermost ranges up to `until`, closing those that end before it. */
static void close_until(struct segments_builder *b, uint64_t until)
{
	while (b->open.count) {
		uint64_t end = vec_last(&b->open).end;

		if (end > until)
			return;
		/* Drop outer ranges that end within this one, which covers the rest of them. */
		do {
			b->open.count--;
		} while (b->open.count && vec_last(&b->open).end <= end);
		add(b->out, end, b->open.count ? vec_last(&b->open).id : NO_SEGMENT);
	}
}

void segments_builder_add(struct segments_builder *b, const struct interval *next)
{
	if (next->start >= next->end)
		return;
	close_until(b, next->start);
	vec_push(&b->open, *next);
	add(b->out, next->start, next->id);
}

void segments_builder_finish(struct segments_builder *b)
{
	close_until(b, UINT64_MAX);
	vec_release(&b->open);
}

void segments_build(struct segments *s, struct intervals *intervals)
{
	struct segments_builder builder = {.out = s};

	sort(intervals);
	vec_for_each(&intervals->rows, const struct interval *, it)
		segments_builder_add(&builder, it);
	segments_builder_finish(&builder);
}

void segments_release(struct segments *s)
{
	vec_release(&s->rows);
}

uint32_t segments_find(const struct segments *s, uint64_t address)
{
	size_t low = vec_count_front(&s->rows, it, it->start <= address);

	return low ? s->rows.items[low - 1].id : NO_SEGMENT;
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/aranges.h"

#include "lib/base/bytes.h"

#define VERSION 2

/* A range, and the offset of its unit. */
struct range {
	uint64_t start, end, unit;
};

struct reader {
	VEC(struct range) ranges;
	struct step_budget *budget;
};

static uint64_t read_sized(struct bytes *b, unsigned int size)
{
	return size == 8 ? bytes_u64(b) : bytes_u32(b);
}

/* Reads ranges up to a pair of zeros; drops empty ones. */
static void read_ranges(struct reader *r, struct bytes *set, unsigned int size, uint64_t unit)
{
	while (bytes_left(set) >= 2 * size && step_budget_take(r->budget, 1)) {
		uint64_t start = read_sized(set, size);
		uint64_t length = read_sized(set, size);

		if (!start && !length)
			return;
		if (length && start + length > start)
			vec_push(&r->ranges, (struct range){start, start + length, unit});
	}
}

/* Takes the whole set, as alignment counts from its start. */
static void read_set(struct reader *r, struct bytes set, bool is_64bit)
{
	unsigned int version, address_size, segment_size;
	uint64_t unit;

	bytes_skip(&set, is_64bit ? 12 : 4);
	version = bytes_u16(&set);
	unit = read_sized(&set, is_64bit ? 8 : 4);
	address_size = bytes_u8(&set);
	segment_size = bytes_u8(&set);
	if (version != VERSION || segment_size || (address_size != 8 && address_size != 4))
		return;
	bytes_align(&set, 2 * address_size);
	read_ranges(r, &set, address_size, unit);
}

static void read_sets(struct reader *r, const struct debug_section *section)
{
	struct bytes b;

	bytes_init(&b, section->data, section->size);
	while (bytes_left(&b) && step_budget_take(r->budget, 1)) {
		struct bytes head = b;
		bool is_64bit;
		uint64_t size = bytes_unit_length(&head, &is_64bit);

		if (head.failed || size > bytes_left(&head))
			return;
		read_set(r, bytes_sub(&b, bytes_position(&head) - bytes_position(&b) + size),
			 is_64bit);
	}
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

void aranges_read(struct aranges *a, const struct debug_section *section,
		  struct step_budget *budget)
{
	struct reader r = {.budget = budget};

	read_sets(&r, section);
	/* Ranges mostly are in this order already. */
	vec_sort(&r.ranges, compare);
	vec_for_each(&r.ranges, const struct range *, it) {
		if (!a->units.count || vec_last(&a->units) != it->unit)
			vec_push(&a->units, it->unit);
		vec_push(&a->ranges.rows, (struct interval){
						  .start = it->start,
						  .end = it->end,
						  .id = (uint32_t)a->units.count - 1,
						  .rank = UNIT_RANK(a->units.count - 1),
					  });
	}
	vec_release(&r.ranges);
}

void aranges_release(struct aranges *a)
{
	vec_release(&a->units);
	vec_release(&a->ranges.rows);
}

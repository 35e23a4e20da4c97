/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "symbolize/dwarf/debug_info.h"
#include "tests/fuzz/input.h"

static void check_index(const uint8_t *data, size_t size, uint64_t id)
{
	struct debug_view package = {.at[DEBUG_CU_INDEX] = {data, size}}, unit;

	for (int kind = 0; kind < DEBUG_CU_INDEX; kind++)
		package.at[kind] = (struct debug_section){data, size};
	if (!unit_index_find(&package, id, &unit))
		return;
	for (int kind = 0; kind < DEBUG_SECTION_COUNT; kind++) {
		const struct debug_section *s = &unit.at[kind];

		if (s->size &&
		    (s->data < data || s->size > size || s->data + s->size > data + size))
			abort();
	}
}

static void check_ranges(const uint8_t *data, size_t size, uint64_t number)
{
	struct debug_view view = {0};
	struct range_source source = {
		.view = &view,
		.version = number & 1 ? 4 : 5,
		.address_size = number & 2 ? 4 : 8,
		.offset_size = number & 4 ? 4 : 8,
	};
	struct range_list list;
	uint64_t start, end;
	size_t count = 0;

	view.at[DEBUG_RANGES] = view.at[DEBUG_RNGLISTS] = view.at[DEBUG_ADDR] =
		(struct debug_section){data, size};
	if (number & 8)
		range_list_open(&list, &source, number >> 4);
	else
		range_list_open_number(&list, &source, number >> 4);
	while (range_list_next(&list, &start, &end)) {
		if (++count > size)
			abort();
	}
}

static void check_aranges(const uint8_t *data, size_t size)
{
	const struct debug_section section = {data, size};
	struct aranges aranges = {0};
	struct step_budget work = {.left = 4 * size};

	aranges_read(&aranges, &section, &work);
	if (aranges.ranges.rows.count > size)
		abort();
	vec_for_each(&aranges.ranges.rows, const struct interval *, it) {
		if (it->start >= it->end || it->id >= aranges.units.count)
			abort();
	}
	for (size_t i = 1; i < aranges.units.count; i++) {
		if (aranges.units.items[i - 1] >= aranges.units.items[i])
			abort();
	}
	aranges_release(&aranges);
}

/* An id or a number, then a section. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t id;

	if (size < sizeof(id))
		return 0;
	memcpy(&id, data, sizeof(id));
	check_index(data + sizeof(id), size - sizeof(id), id);
	check_ranges(data + sizeof(id), size - sizeof(id), id);
	check_aranges(data + sizeof(id), size - sizeof(id));
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/debug_info.h"

#include <dwarf.h>

#include "lib/base/bytes.h"

#define VERSION 2

/* A range, and the offset of its unit. */
struct range {
	uint64_t start, end, unit;
};

struct aranges_reader {
	VEC(struct range) ranges;
	struct step_budget *budget;
};

static uint64_t read_sized(struct bytes *b, unsigned int size)
{
	return size == 8 ? bytes_u64(b) : bytes_u32(b);
}

/* Reads ranges up to a pair of zeros; drops empty ones. */
static void read_ranges(struct aranges_reader *r, struct bytes *set, unsigned int size,
			uint64_t unit)
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

/* Takes the whole set, because alignment counts from its start. */
static void read_set(struct aranges_reader *r, struct bytes set, bool is_64bit)
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

static void read_sets(struct aranges_reader *r, const struct debug_section *section)
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

ORDER(compare, struct range, COMPARE(a->unit, b->unit))

void aranges_read(struct aranges *a, const struct debug_section *section,
		  struct step_budget *budget)
{
	struct aranges_reader r = {.budget = budget};

	read_sets(&r, section);
	/* Ranges are mostly sorted already. */
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

/*
 * Indexes units. A unit with code ranges in .debug_aranges is read only when an address falls into
 * it; until then, only unit heads are read, and nothing of a packed section after the last unit
 * used. All units are read once an address lies outside of those ranges.
 */

/*
 * libdw reads the headers of all preceding units, and the beginning of their first entry, which may
 * name a split unit. Few are longer than this.
 */
#define HEAD_BYTES 1024
#define DWARF_VERSION_MAX 5 /* highest version that libdw reads */

static uint64_t info_size(const struct debug_info *info)
{
	return info->sections->view.at[DEBUG_INFO].size;
}

bool units_need_all(struct debug_info *info)
{
	if (debug_sections_need(info->sections, DEBUG_INFO, 0, info_size(info)))
		return true;
	module_files_set_reason(info->files, SYMBOLS_DAMAGED);
	return false;
}

/* Stores the size of the header of the unit at `offset`, and the next unit's offset. */
static bool read_head(struct debug_info *info, uint64_t offset, size_t *header, Dwarf_Off *next)
{
	uint64_t left = info_size(info) - offset;

	return debug_sections_need(info->sections, DEBUG_INFO, offset,
				   offset + MIN(left, HEAD_BYTES)) &&
	       dwarf_next_unit(info->dwarf, offset, next, header, NULL, NULL, NULL, NULL, NULL,
			       NULL) == 0 &&
	       *next > offset;
}

/* Reads the heads of all units up to `end`, and moves info->heads_end there. */
static bool read_heads(struct debug_info *info, uint64_t end)
{
	Dwarf_Off next;
	size_t header;

	while (info->heads_end < end) {
		if (!step_budget_take(&info->budget, 1) ||
		    !read_head(info, info->heads_end, &header, &next))
			return false;
		info->heads_end = next;
	}
	return true;
}

/* Finds the unit's first entry after reading the whole unit. */
static bool find_die(struct debug_info *info, uint64_t offset, Dwarf_Die *die)
{
	uint64_t size = info_size(info);
	Dwarf_Off next;
	size_t header;

	if (offset >= size || !read_heads(info, offset) ||
	    !read_head(info, offset, &header, &next) ||
	    !debug_sections_need(info->sections, DEBUG_INFO, offset, MIN(next, size)))
		return false;
	/* The offset may not be the start of a unit at all. */
	return dwarf_offdie(info->dwarf, offset + header, die) &&
	       dwarf_dieoffset(die) - dwarf_cuoffset(die) == offset;
}

static bool is_with_code(struct debug_info *info, struct unit *unit, uint8_t type)
{
	unit->is_skeleton = is_skeleton(info, &unit->die, type);
	return type == DW_UT_compile || unit->is_skeleton;
}

static void open_unit(struct debug_info *info, struct unit *unit)
{
	uint8_t type;

	unit->is_open = true;
	if (find_die(info, unit->offset, &unit->die) &&
	    dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) == 0 &&
	    is_with_code(info, unit, type))
		die_add_ranges(unit, &unit->die, 0, 0, &unit->ranges, &info->budget);
}

static bool index_by_aranges(struct debug_info *info)
{
	struct aranges aranges = {0};

	aranges_read(&aranges, &info->sections->view.at[DEBUG_ARANGES], &info->budget);
	vec_for_each(&aranges.units, const uint64_t *, offset)
		vec_push(&info->units, (struct unit){.offset = *offset});
	segments_build(&info->segments, &aranges.ranges);
	aranges_release(&aranges);
	return info->segments.rows.count;
}

/*
 * Returns whether a unit has a version that libdw does not support. libdw reads no unit from there
 * on.
 */
static bool has_newer_unit(const struct debug_info *info)
{
	const struct debug_section *section = &info->sections->view.at[DEBUG_INFO];
	struct bytes b;

	bytes_init(&b, section->data, section->size);
	while (bytes_left(&b)) {
		bool is_64bit;
		uint64_t size = bytes_unit_length(&b, &is_64bit);
		struct bytes unit = bytes_sub(&b, size);

		if (b.failed)
			return false;
		if (bytes_u16(&unit) > DWARF_VERSION_MAX)
			return true;
	}
	return false;
}

/* Returns the number of the unit, adding it if missing; the search starts at *next. */
static uint32_t add_unit(struct debug_info *info, size_t *next, size_t known, struct unit *unit)
{
	while (*next < known && info->units.items[*next].offset < unit->offset)
		++*next;
	if (*next == known || info->units.items[*next].offset != unit->offset) {
		vec_push(&info->units, *unit);
		return (uint32_t)info->units.count - 1;
	}
	if (!info->units.items[*next].is_open)
		info->units.items[*next] = *unit;
	return (uint32_t)*next;
}

static void index_all(struct debug_info *info)
{
	struct intervals intervals = {0};
	Dwarf_CU *cu = NULL, *after;
	size_t next = 0, known = info->units.count, number = 0;
	uint8_t type;
	int ret;

	info->has_all_units = true;
	units_need_all(info);
	for (;;) {
		struct unit unit = {.is_open = true};
		uint32_t id;

		/*
		 * libdw does not search for the split unit's file if no pointer for the unit is
		 * passed.
		 */
		ret = dwarf_get_units(info->dwarf, cu, &after, NULL, &type, &unit.die, NULL);
		if (ret || !step_budget_take(&info->budget, 1))
			break;
		cu = after;
		if (!is_with_code(info, &unit, type))
			continue;
		unit.offset = dwarf_dieoffset(&unit.die) - dwarf_cuoffset(&unit.die);
		id = add_unit(info, &next, known, &unit);
		die_add_ranges(&unit, &unit.die, id, UNIT_RANK(number++), &intervals,
			       &info->budget);
	}
	if (ret < 0 && has_newer_unit(info))
		module_files_set_reason(info->files, SYMBOLS_NEWER_DWARF);
	segments_release(&info->segments);
	segments_build(&info->segments, &intervals);
	vec_release(&intervals.rows);
}

void units_index(struct debug_info *info)
{
	if (!index_by_aranges(info))
		index_all(info);
}

struct unit *units_find_at(struct debug_info *info, uint64_t addr, bool listed)
{
	uint32_t id = segments_find(&info->segments, addr);

	if (!info->has_all_units && id != NO_SEGMENT) {
		struct unit *unit = &info->units.items[id];

		if (!unit->is_open)
			open_unit(info, unit);
		if (vec_find(&unit->ranges.rows, it, addr >= it->start && addr < it->end))
			return unit;
	}
	if (!info->has_all_units && listed)
		return NULL;
	if (!info->has_all_units) {
		index_all(info);
		id = segments_find(&info->segments, addr);
	}
	return id == NO_SEGMENT ? NULL : &info->units.items[id];
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/dwarf_units.h"

#include <dwarf.h>
#include <sys/param.h>

#include "symbolize/dwarf/debug_info.h"

static uint64_t read_sized(struct bytes *b, unsigned int size)
{
	return size == 8 ? bytes_u64(b) : bytes_u32(b);
}

static uint64_t largest(const struct range_source *source)
{
	return source->address_size == 8 ? UINT64_MAX : UINT32_MAX;
}

/* Returns 0 and marks the list as failed if the index is out of range. */
static uint64_t read_indexed(struct range_list *l)
{
	const struct debug_section *addresses = &l->source->view->at[DEBUG_ADDR];
	uint64_t number = bytes_uleb(&l->at);
	struct bytes b;

	bytes_init(&b, addresses->data, addresses->size);
	if (number >= addresses->size / l->source->address_size) {
		l->at.failed = true;
		return 0;
	}
	bytes_seek(&b, number * l->source->address_size);
	return read_sized(&b, l->source->address_size);
}

void range_list_open(struct range_list *l, const struct range_source *source, uint64_t offset)
{
	const struct debug_section *lists =
		&source->view->at[source->version < 5 ? DEBUG_RANGES : DEBUG_RNGLISTS];

	*l = (struct range_list){.source = source, .base = source->base};
	bytes_init(&l->at, lists->data, lists->size);
	bytes_seek(&l->at, offset <= lists->size ? offset : lists->size);
}

void range_list_open_number(struct range_list *l, const struct range_source *source,
			    uint64_t number)
{
	/* After the length: 2 bytes of version, 2 of sizes and 4 with the number of lists. */
	size_t first = source->offset_size == 8 ? 20 : 12;
	struct range_list table;
	uint64_t count, offset;

	range_list_open(&table, source, first - 4);
	count = bytes_u32(&table.at);
	bytes_skip(&table.at, number < count ? number * source->offset_size : SIZE_MAX);
	offset = read_sized(&table.at, source->offset_size);
	if (table.at.failed || offset > source->view->at[DEBUG_RNGLISTS].size)
		offset = source->view->at[DEBUG_RNGLISTS].size;
	range_list_open(l, source, first + offset);
}

static bool next_pair(struct range_list *l, uint64_t *start, uint64_t *end)
{
	uint64_t escape = largest(l->source);

	for (;;) {
		*start = read_sized(&l->at, l->source->address_size);
		*end = read_sized(&l->at, l->source->address_size);
		if (l->at.failed || (!*start && !*end))
			return false;
		if (*start != escape)
			break;
		l->base = *end;
	}
	*start += l->base;
	*end += l->base;
	return true;
}

/* Returns 1 for a range, 0 for any other entry, -1 at the end. */
static int next_entry(struct range_list *l, uint64_t *start, uint64_t *end)
{
	unsigned int size = l->source->address_size;

	switch (bytes_u8(&l->at)) {
	case DW_RLE_base_addressx:
		l->base = read_indexed(l);
		return 0;
	case DW_RLE_base_address:
		l->base = read_sized(&l->at, size);
		return 0;
	case DW_RLE_startx_endx:
		*start = read_indexed(l);
		*end = read_indexed(l);
		return 1;
	case DW_RLE_startx_length:
		*start = read_indexed(l);
		*end = *start + bytes_uleb(&l->at);
		return 1;
	case DW_RLE_offset_pair:
		*start = l->base + bytes_uleb(&l->at);
		*end = l->base + bytes_uleb(&l->at);
		return 1;
	case DW_RLE_start_end:
		*start = read_sized(&l->at, size);
		*end = read_sized(&l->at, size);
		return 1;
	case DW_RLE_start_length:
		*start = read_sized(&l->at, size);
		*end = *start + bytes_uleb(&l->at);
		return 1;
	default:
		return -1;
	}
}

bool range_list_next(struct range_list *l, uint64_t *start, uint64_t *end)
{
	int ret = 0;

	if (l->source->version < 5)
		return next_pair(l, start, end);
	while (ret == 0 && !l->at.failed)
		ret = next_entry(l, start, end);
	return ret > 0 && !l->at.failed;
}

/* Finds the unit, and its function, at an address. */

void die_add_ranges(const struct unit *unit, Dwarf_Die *die, uint32_t id, uint32_t rank,
		    struct intervals *intervals, struct step_budget *budget)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	if (unit->split) {
		split_add_ranges(unit->split, die, id, rank, intervals, budget);
		return;
	}
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 &&
	       step_budget_take(budget, 1)) {
		if (start < end)
			vec_push(&intervals->rows, (struct interval){start, end, id, rank});
	}
}

void entry_add_ranges(const struct unit *unit, const struct die_entry *e, uint32_t id,
		      uint32_t rank, struct intervals *intervals, struct step_budget *budget)
{
	Dwarf_Die die;

	if (e->is_plain) {
		if (e->start < e->end)
			vec_push(&intervals->rows, (struct interval){e->start, e->end, id, rank});
	} else if (e->has_code) {
		die = unit_die_at(unit, e->at);
		die_add_ranges(unit, &die, id, rank, intervals, budget);
	}
}

bool unit_walk_open(struct debug_info *info, const struct unit *unit, struct die_walk *walk)
{
	const struct split *split = unit->split;
	Dwarf_Die root = split ? split->die : unit->die;
	const struct debug_view *view = split ? &split->view : &info->sections->view;

	/* root.addr is NULL if libdw could read no more than the unit's header. */
	return root.addr &&
	       die_walk_open(walk, &info->abbrevs, view,
			     (const uint8_t *)root.addr - dwarf_cuoffset(&root), &info->budget);
}

Dwarf_Die unit_die_at(const struct unit *unit, const uint8_t *at)
{
	Dwarf_Die die = unit->split ? unit->split->die : unit->die;

	/* libdw reads the abbreviation itself when needed. */
	die.addr = (void *)(uintptr_t)at;
	die.abbrev = NULL;
	return die;
}

static void drop_functions(struct unit_detail *detail)
{
	vec_for_each(&detail->functions, struct function *, it)
		inline_tree_free(it->inlines);
	vec_clear(&detail->functions);
	segments_release(&detail->segments);
}

static void drop_detail(struct unit *unit)
{
	if (!unit->detail)
		return;
	drop_functions(unit->detail);
	vec_release(&unit->detail->functions);
	line_table_release(&unit->detail->lines);
	free(unit->detail);
	unit->detail = NULL;
}

static void drop_details(struct debug_info *info)
{
	vec_for_each(&info->units, struct unit *, it)
		drop_detail(it);
	info->detail_bytes = 0;
}

void units_release(struct debug_info *info)
{
	drop_details(info);
	vec_for_each(&info->units, struct unit *, it) {
		split_free(it->split);
		vec_release(&it->ranges.rows);
	}
	vec_release(&info->units);
	segments_release(&info->segments);
}

/*
 * Functions are mostly children of the unit or of namespaces. GCC puts those of local classes and
 * lambdas into the type inside the function; only a full walk finds them.
 */
static bool may_hold_functions(const struct die_entry *e, bool is_deep)
{
	if (e->depth >= MAX_DIE_DEPTH)
		return false;
	return is_deep || e->tag == DW_TAG_namespace || e->tag == DW_TAG_module;
}

static void find_functions(struct debug_info *info, struct unit *unit, bool is_deep)
{
	Dwarf_Die *root = unit->split ? &unit->split->die : &unit->die;
	struct unit_detail *detail = unit->detail;
	struct intervals intervals = {0};
	struct die_walk walk;
	struct die_entry e;
	bool is_haskell;

	drop_functions(detail);
	detail->is_deep = is_deep;
	if (!unit_walk_open(info, unit, &walk))
		return;
	detail->is_ada = language_is_ada(unit_language(root));
	/* GHC's blocks lie outside of the function to which they belong. */
	is_haskell = unit_language(root) == DW_LANG_Haskell;
	die_walk_enter(&walk, root->addr);
	while (die_walk_next(&walk, &e)) {
		size_t before = intervals.rows.count;

		if (is_haskell && e.tag == DW_TAG_lexical_block && detail->functions.count)
			entry_add_ranges(unit, &e, (uint32_t)detail->functions.count - 1, 0,
					 &intervals, &info->budget);
		else if (e.tag == DW_TAG_subprogram)
			entry_add_ranges(unit, &e, (uint32_t)detail->functions.count, 0, &intervals,
					 &info->budget);
		if (intervals.rows.count > before && e.tag == DW_TAG_subprogram)
			vec_push(&detail->functions, (struct function){.at = e.at});
		if (!may_hold_functions(&e, is_deep || is_haskell))
			die_walk_skip(&walk, &e);
	}
	segments_build(&detail->segments, &intervals);
	vec_release(&intervals.rows);
}

/* Reads the whole table there, which begins with its size. */
static bool need_lines(struct debug_info *info, uint64_t offset)
{
	struct bytes b = info->line_sections.line;
	size_t all = bytes_left(&b);
	bool is_64bit;
	uint64_t size;

	if (offset >= all || !debug_sections_need(info->sections, DEBUG_LINE, offset,
						  offset + MIN(all - offset, 12)))
		return false;
	bytes_seek(&b, offset);
	size = bytes_unit_length(&b, &is_64bit);
	return debug_sections_need(info->sections, DEBUG_LINE, offset,
				   bytes_position(&b) + MIN(size, bytes_left(&b)));
}

static void find_lines(struct debug_info *info, struct unit *unit)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	unit->detail->lines.wants_discriminators = info->wants_discriminators;
	if (dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute) &&
	    dwarf_formudata(&attribute, &offset) == 0 && need_lines(info, offset))
		line_table_read(&unit->detail->lines, &info->line_sections, offset, &info->budget);
}

static size_t detail_bytes(const struct unit_detail *detail)
{
	const struct line_table *lines = &detail->lines;

	return sizeof(*detail) + detail->functions.capacity * sizeof(struct function) +
	       lines->rows.capacity * sizeof(struct line_row) +
	       lines->files.capacity * sizeof(struct line_file);
}

static void open_split(struct debug_info *info, struct unit *unit)
{
	unit->split = split_open(info, &unit->die);
	if (unit->split)
		caches_add(&info->views, unit->split->dwarf, &unit->split->view);
}

struct unit *units_find(struct debug_info *info, uint64_t addr, bool listed)
{
	struct unit *unit = units_find_at(info, addr, listed);

	if (!unit || unit->detail)
		return unit;
	/* Addresses ascend: when there are this many details, most units are finished. */
	if (info->detail_bytes > MAX_DETAIL_BYTES)
		drop_details(info);
	unit->detail = xcalloc(1, sizeof(*unit->detail));
	if (unit->is_skeleton && !unit->split)
		open_split(info, unit);
	find_functions(info, unit, false);
	find_lines(info, unit);
	info->detail_bytes += detail_bytes(unit->detail);
	return unit;
}

struct function *unit_find_function(struct debug_info *info, struct unit *unit, uint64_t addr,
				    bool is_thorough)
{
	uint32_t id = segments_find(&unit->detail->segments, addr);

	if (id == NO_SEGMENT && is_thorough && !unit->detail->is_deep) {
		find_functions(info, unit, true);
		id = segments_find(&unit->detail->segments, addr);
	}
	return id == NO_SEGMENT ? NULL : &unit->detail->functions.items[id];
}

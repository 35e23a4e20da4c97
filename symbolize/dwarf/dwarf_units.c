/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/debug_info.h"

#include <dwarf.h>

#include "lib/base/bytes.h"

static uint64_t read_sized(struct bytes *b, unsigned int size)
{
	return size == 8 ? bytes_u64(b) : bytes_u32(b);
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
	uint64_t escape = l->source->address_size == 8 ? UINT64_MAX : UINT32_MAX;

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

/* Maximum number of columns, above the number of section kinds. */
#define MAX_COLUMNS 16

struct index_table {
	uint32_t version, column_count, row_count, slot_count;
	/* Cursors at the first element of each array; bounds are checked. */
	struct bytes ids, rows, columns, offsets, sizes;
};

static bool take_table(struct bytes *b, struct bytes *table, uint64_t count, size_t size)
{
	if (count > bytes_left(b) / size)
		return false;
	*table = bytes_sub(b, count * size);
	return true;
}

static bool read_table(struct index_table *t, const struct debug_section *index)
{
	struct bytes b;
	uint64_t cells;

	bytes_init(&b, index->data, index->size);
	/* DWARF 5 has 2 bytes of version and 2 of padding; GNU's form has 4 bytes of version. */
	t->version = bytes_u32(&b);
	t->column_count = bytes_u32(&b);
	t->row_count = bytes_u32(&b);
	t->slot_count = bytes_u32(&b);
	cells = (uint64_t)t->row_count * t->column_count;
	return !b.failed && (t->version == 2 || t->version == 5) &&
	       t->column_count <= MAX_COLUMNS && t->slot_count &&
	       (t->slot_count & (t->slot_count - 1)) == 0 &&
	       take_table(&b, &t->ids, t->slot_count, 8) &&
	       take_table(&b, &t->rows, t->slot_count, 4) &&
	       take_table(&b, &t->columns, t->column_count, 4) &&
	       take_table(&b, &t->offsets, cells, 4) && take_table(&b, &t->sizes, cells, 4);
}

static uint32_t u32_at(struct bytes table, uint64_t number)
{
	bytes_seek(&table, number * 4);
	return bytes_u32(&table);
}

static uint64_t u64_at(struct bytes table, uint64_t number)
{
	bytes_seek(&table, number * 8);
	return bytes_u64(&table);
}

/* Returns the row of the unit, from 1; 0 if there is none. */
static uint32_t find_row(const struct index_table *t, uint64_t unit_id)
{
	uint64_t mask = t->slot_count - 1, slot = unit_id & mask;
	uint64_t step = (unit_id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < t->slot_count; i++, slot = (slot + step) & mask) {
		uint32_t row = u32_at(t->rows, slot);

		if (!row)
			return 0;
		if (u64_at(t->ids, slot) == unit_id)
			return row <= t->row_count ? row : 0;
	}
	return 0;
}

/* Returns -1 for kinds of sections that are not read. */
static int kind_of_column(uint32_t version, uint32_t id)
{
	switch (id) {
	case 1:
		return DEBUG_INFO;
	case 3:
		return DEBUG_ABBREV;
	case 4:
		return DEBUG_LINE;
	case 6:
		return DEBUG_STR_OFFSETS;
	case 8:
		return version == 5 ? DEBUG_RNGLISTS : -1;
	default:
		return -1;
	}
}

bool unit_index_find(const struct debug_view *package, uint64_t unit_id, struct debug_view *unit)
{
	struct index_table t;
	uint32_t row;

	*unit = (struct debug_view){.machine = package->machine, .is_64bit = package->is_64bit};
	unit->at[DEBUG_STR] = package->at[DEBUG_STR];
	if (!read_table(&t, &package->at[DEBUG_CU_INDEX]))
		return false;
	row = find_row(&t, unit_id);
	if (!row)
		return false;
	for (uint32_t column = 0; column < t.column_count; column++) {
		uint64_t cell = (uint64_t)(row - 1) * t.column_count + column;
		uint32_t offset = u32_at(t.offsets, cell), size = u32_at(t.sizes, cell);
		int kind = kind_of_column(t.version, u32_at(t.columns, column));

		if (kind < 0 || !size)
			continue;
		if (offset > package->at[kind].size || size > package->at[kind].size - offset)
			return false;
		unit->at[kind] = (struct debug_section){package->at[kind].data + offset, size};
	}
	return unit->at[DEBUG_INFO].data && unit->at[DEBUG_ABBREV].data;
}

/*
 * Units whose functions are in another file than their lines: a skeleton names a .dwo file, or a
 * package next to the program (.dwp) holds all of them. libdw would open any path that the skeleton
 * names, and supports packages only in part. So each split unit is assembled here as a small file
 * of its own, with the parts of the skeleton's file that it needs.
 */

/* Maximum size of all split units that one worker has open. */
#define MAX_SPLIT_BYTES ((uint64_t)1 << 30)

static bool read_number(Dwarf_Die *die, unsigned int name, unsigned int old_name, uint64_t *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr(die, name, &attribute) && !dwarf_attr(die, old_name, &attribute))
		return false;
	if (dwarf_formudata(&attribute, &word) != 0)
		return false;
	*value = word;
	return true;
}

static const char *split_name(struct debug_info *info, Dwarf_Die *skeleton)
{
	return attribute_text(info, skeleton, DW_AT_dwo_name)
		       ?: attribute_text(info, skeleton, DW_AT_GNU_dwo_name);
}

bool is_skeleton(struct debug_info *info, Dwarf_Die *die, uint8_t type)
{
	/* libdw mistakes a skeleton with a few functions of its own for a whole unit. */
	return type == DW_UT_skeleton || (type == DW_UT_split_compile && split_name(info, die));
}

static bool find_part_in_package(struct debug_info *info, uint64_t id, struct split *split)
{
	if (!info->has_looked_for_package) {
		_cleanup_close_ int fd = module_files_open_package(info->files);

		info->has_looked_for_package = true;
		if (fd >= 0 && debug_sections_open(&info->package, fd, DEBUG_FILE_SPLIT, NULL) != 0)
			log_debug("damaged package of split units");
	}
	return info->package.source && unit_index_find(&info->package.view, id, &split->view);
}

/* Cuts off the part of units before this one. */
static struct debug_section cut(const struct debug_section *whole, uint64_t offset)
{
	if (offset >= whole->size)
		return (struct debug_section){0};
	return (struct debug_section){whole->data + offset, whole->size - offset};
}

static void add_from_skeleton(struct debug_info *info, Dwarf_Die *skeleton, struct split *split)
{
	const struct debug_section *at = info->sections->view.at;
	uint64_t offset = 0;
	Dwarf_Addr base = 0;

	if (read_number(skeleton, DW_AT_addr_base, DW_AT_GNU_addr_base, &offset))
		split->view.at[DEBUG_ADDR] = cut(&at[DEBUG_ADDR], offset);
	offset = 0;
	read_number(skeleton, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base, &offset);
	split->view.at[DEBUG_RANGES] = cut(&at[DEBUG_RANGES], offset);
	dwarf_lowpc(skeleton, &base);
	split->ranges.base = base;
	/* File numbers refer to the skeleton's line table. */
	split->view.at[DEBUG_LINE] = (struct debug_section){0};
}

/* Finds a unit by id: a file may contain types and, after link-time optimization, several units. */
static bool find_unit(struct split *split, uint64_t id)
{
	Dwarf_CU *cu = NULL, *next;
	uint8_t type, address_size, offset_size;
	Dwarf_Half version;

	while (dwarf_get_units(split->dwarf, cu, &next, &version, &type, NULL, NULL) == 0) {
		uint64_t own_id;

		cu = next;
		if (dwarf_cu_info(cu, NULL, NULL, &split->die, NULL, &own_id, &address_size,
				  &offset_size) != 0 ||
		    type != DW_UT_split_compile || own_id != id)
			continue;
		split->ranges.view = &split->view;
		split->ranges.version = version;
		split->ranges.address_size = address_size == 4 ? 4 : 8;
		split->ranges.offset_size = offset_size;
		return true;
	}
	return false;
}

static void end(struct split *split)
{
	dwarf_end(split->dwarf);
	debug_view_end(split->elf);
	debug_sections_release(&split->sections);
	*split = (struct split){0};
}

/* Begins with the view of a file or of a part of a package. */
static bool begin(struct debug_info *info, struct split *split, Dwarf_Die *skeleton, uint64_t id)
{
	/* Do not count strings, which all units of a package share. */
	uint64_t size = debug_view_size(&split->view) - split->view.at[DEBUG_STR].size;

	if (info->split_bytes + size > MAX_SPLIT_BYTES) {
		module_files_set_reason(info->files, SYMBOLS_TOO_LARGE);
		return false;
	}
	add_from_skeleton(info, skeleton, split);
	split->elf = debug_view_begin(&split->view);
	split->dwarf = split->elf ? dwarf_begin_elf(split->elf, DWARF_C_READ, NULL) : NULL;
	if (!split->dwarf || !find_unit(split, id))
		return false;
	info->split_bytes += size;
	info->budget.left += STEPS_PER_BYTE * size;
	return true;
}

static bool open_file(struct debug_info *info, struct split *split, Dwarf_Die *skeleton,
		      uint64_t id)
{
	const char *name = split_name(info, skeleton);
	const char *dir = attribute_text(info, skeleton, DW_AT_comp_dir);
	struct error err = {0};

	for (unsigned int place = 0; name; place++) {
		_cleanup_close_ int fd = module_files_open_split(info->files, place, dir, name);

		if (fd == -ERANGE)
			break;
		if (fd < 0 ||
		    debug_sections_open(&split->sections, fd, DEBUG_FILE_SPLIT, &err) != 0)
			continue;
		split->view = split->sections.view;
		if (begin(info, split, skeleton, id))
			return true;
		/* May be from an older build; the right file may be elsewhere. */
		log_debug("%s: not the expected unit", name);
		end(split);
	}
	return false;
}

struct split *split_open(struct debug_info *info, Dwarf_Die *skeleton)
{
	struct split *split = xcalloc(1, sizeof(*split));
	uint64_t id;

	if (dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) == 0) {
		if (find_part_in_package(info, id, split) && begin(info, split, skeleton, id))
			return split;
		end(split);
		if (open_file(info, split, skeleton, id))
			return split;
	}
	split_free(split);
	module_files_set_reason(info->files, SYMBOLS_NO_SPLIT_UNITS);
	return NULL;
}

void split_free(struct split *split)
{
	if (!split)
		return;
	end(split);
	free(split);
}

/* Reads the value itself: libdw would look it up in sections that are cut off. */
static void open_list(const struct split *split, const Dwarf_Attribute *attribute,
		      struct range_list *list)
{
	const struct debug_section *entries = &split->view.at[DEBUG_INFO];
	struct bytes b;

	bytes_init(&b, entries->data, entries->size);
	bytes_seek(&b, (size_t)(attribute->valp - entries->data));
	if (attribute->form == DW_FORM_rnglistx)
		range_list_open_number(list, &split->ranges, bytes_uleb(&b));
	else
		range_list_open(list, &split->ranges,
				split->ranges.offset_size == 8 ? bytes_u64(&b) : bytes_u32(&b));
}

void split_add_ranges(const struct split *split, Dwarf_Die *die, uint32_t id, uint32_t rank,
		      struct intervals *intervals, struct step_budget *budget)
{
	Dwarf_Attribute attribute;
	struct range_list list;
	Dwarf_Addr start, end;
	uint64_t from, to;

	if (dwarf_lowpc(die, &start) == 0 && dwarf_highpc(die, &end) == 0) {
		if (start < end)
			vec_push(&intervals->rows, (struct interval){start, end, id, rank});
		return;
	}
	if (!dwarf_attr(die, DW_AT_ranges, &attribute))
		return;
	open_list(split, &attribute, &list);
	while (range_list_next(&list, &from, &to) && step_budget_take(budget, 1)) {
		if (from < to)
			vec_push(&intervals->rows, (struct interval){from, to, id, rank});
	}
}

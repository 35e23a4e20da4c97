/* SPDX-License-Identifier: MIT */
/*
 * Units whose functions are in another file than their lines: a skeleton names a .dwo file, or a
 * package beside the program (.dwp) holds all of them. libdw would open any path that the skeleton
 * names and supports packages only in part. So each split unit is put together here as a small file
 * of its own, with the parts of the skeleton's file that it needs.
 */
#include <dwarf.h>
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "symbolize/dwarf/debug_info.h"
#include "symbolize/dwarf/unit_index.h"

/* Limit for all split units that one worker has open. */
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
	const char *name = attribute_text(info, skeleton, DW_AT_dwo_name);

	return name ? name : attribute_text(info, skeleton, DW_AT_GNU_dwo_name);
}

bool is_skeleton(struct debug_info *info, Dwarf_Die *die, uint8_t type)
{
	/* libdw takes a skeleton with a few functions of its own for a whole unit. */
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

/* Cuts off the part of units in front of this one. */
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

/* A file may hold types and, after link-time optimization, several units. */
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
		/* Perhaps from an older build; the right file may be elsewhere. */
		log_debug("%s: not the unit that it should be", name);
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

/* Reads the value itself, as libdw would look it up in sections that are cut off. */
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

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/abbrevs.h"

#include <dwarf.h>

#include "lib/base/alloc.h"

/*
 * Far above any compiler's tables; each step takes several times the memory of its bytes in the
 * file.
 */
#define MAX_STEPS (1u << 20)

int form_size(uint64_t form, struct die_sizes sizes)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return sizes.address;
	case DW_FORM_ref_addr:
		return sizes.version == 2 ? sizes.address : sizes.offset;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return sizes.offset;
	default:
		return -1;
	}
}

static enum die_value value_of(uint64_t name)
{
	switch (name) {
	case DW_AT_sibling:
		return DIE_SIBLING;
	case DW_AT_low_pc:
		return DIE_LOW_PC;
	case DW_AT_high_pc:
		return DIE_HIGH_PC;
	case DW_AT_ranges:
		return DIE_RANGES;
	default:
		return DIE_NO_VALUE;
	}
}

/* Merges attributes that have a known size and are not needed. */
static void add_step(struct abbrevs *a, size_t first, uint64_t name, uint64_t form)
{
	enum die_value value = value_of(name);
	int size = form_size(form, a->sizes);
	bool is_passed = size >= 0 && value == DIE_NO_VALUE;

	if (is_passed && a->steps.count > first && !vec_last(&a->steps).form)
		vec_last(&a->steps).size += (uint32_t)size;
	else
		vec_push(&a->steps, (struct die_step){
					    .value = (uint8_t)value,
					    .form = is_passed ? 0 : (uint16_t)form,
					    .size = is_passed ? (uint32_t)size : 0,
				    });
}

/* False: the attributes are damaged, or there are too many. */
static bool read_attributes(struct abbrevs *a, struct bytes *b, struct step_budget *budget)
{
	size_t first = a->steps.count;

	while (!b->failed && a->steps.count < MAX_STEPS && step_budget_take(budget, 1)) {
		uint64_t name = bytes_uleb(b), form = bytes_uleb(b);

		if (!name && !form)
			return !b->failed;
		if (!form || form > UINT16_MAX)
			return false;
		if (form == DW_FORM_implicit_const)
			bytes_sleb(b);
		add_step(a, first, name, form);
	}
	return false;
}

static int compare(const void *x, const void *y)
{
	const struct abbrev *a = x, *b = y;

	if (a->code != b->code)
		return a->code < b->code ? -1 : 1;
	return a->first_step < b->first_step ? -1 : a->first_step > b->first_step;
}

struct abbrevs *abbrevs_new(struct bytes table, struct die_sizes sizes, struct step_budget *budget)
{
	struct abbrevs *a = xcalloc(1, sizeof(*a));

	a->place = table.at;
	a->sizes = sizes;
	a->is_dense = true;
	for (;;) {
		struct abbrev row = {.code = bytes_uleb(&table)};

		row.tag = (uint16_t)bytes_uleb(&table);
		row.has_children = bytes_u8(&table);
		row.first_step = (uint32_t)a->steps.count;
		if (!row.code || table.failed || !read_attributes(a, &table, budget))
			break;
		row.step_count = (uint32_t)a->steps.count - row.first_step;
		vec_push(&a->rows, row);
		a->is_dense = a->is_dense && row.code == a->rows.count;
	}
	if (!a->is_dense)
		vec_sort(&a->rows, compare);
	return a;
}

void abbrevs_free(struct abbrevs *a)
{
	if (!a)
		return;
	vec_release(&a->rows);
	vec_release(&a->steps);
	free(a);
}

const struct abbrev *abbrevs_find(const struct abbrevs *a, uint64_t code)
{
	size_t low;

	if (a->is_dense)
		return code - 1 < a->rows.count ? &a->rows.items[code - 1] : NULL;
	low = vec_count_front(&a->rows, it, it->code < code);
	return low < a->rows.count && a->rows.items[low].code == code ? &a->rows.items[low] : NULL;
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/debug_info.h"

#include <dwarf.h>

/* A table of abbreviations (DWARF 5, 7.5.3), with a walk's steps over the attributes of each. */

/* Parameters for the sizes of forms. */
struct die_sizes {
	uint16_t version;
	uint8_t address, offset; /* sizes in bytes: 4 or 8 */
};

/* Attributes whose values a walk needs; it skips all others. */
enum die_value { DIE_NO_VALUE, DIE_SIBLING, DIE_LOW_PC, DIE_HIGH_PC, DIE_RANGES };

struct die_step {
	uint8_t value; /* enum die_value */
	uint16_t form; /* DW_FORM_…; 0: skip `size` bytes */
	uint32_t size;
};

struct abbrev {
	uint64_t code;
	uint32_t first_step, step_count;
	uint16_t tag;
	bool has_children;
};

struct abbrevs {
	const uint8_t *place; /* position of the table in its section */
	struct die_sizes sizes;
	VEC(struct abbrev) rows; /* sorted by code */
	VEC(struct die_step) steps;
	bool is_dense; /* codes are 1, 2, 3, … */
};

/*
 * Maximum number of steps, far above any compiler's tables; each takes several times as much memory
 * as its bytes in the file.
 */
#define MAX_STEPS (1u << 20)

/* Returns the size in bytes of a value of that form; -1 if it depends on the value. */
static int form_size(uint64_t form, struct die_sizes sizes)
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

/* Adds a step, merging unneeded attributes of known size. */
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

/* Returns false if the attributes are damaged or too many. */
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

ORDER(compare, struct abbrev, COMPARE(a->code, b->code) ?: COMPARE(a->first_step, b->first_step))

/*
 * Reads to the end of the table or to the first damage. Takes a step of the budget for each
 * attribute.
 */
static struct abbrevs *abbrevs_new(struct bytes table, struct die_sizes sizes,
				   struct step_budget *budget)
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

/* Accepts NULL. */
static void abbrevs_free(struct abbrevs *a)
{
	if (!a)
		return;
	vec_release(&a->rows);
	vec_release(&a->steps);
	free(a);
}

/* Returns NULL if no abbreviation has this code. */
static const struct abbrev *abbrevs_find(const struct abbrevs *a, uint64_t code)
{
	size_t low;

	if (a->is_dense)
		return code - 1 < a->rows.count ? &a->rows.items[code - 1] : NULL;
	low = vec_count_front(&a->rows, it, it->code < code);
	return low < a->rows.count && a->rows.items[low].code == code ? &a->rows.items[low] : NULL;
}

void abbrev_cache_release(struct abbrev_cache *cache)
{
	for (unsigned int i = 0; i < ABBREV_TABLES; i++) {
		abbrevs_free(cache->tables[i]);
		cache->tables[i] = NULL;
	}
}

static const struct abbrevs *get_abbrevs(struct abbrev_cache *cache, const struct bytes *table,
					 struct die_sizes sizes, struct step_budget *budget)
{
	struct abbrevs **slot = &cache->tables[cache->next];

	for (unsigned int i = 0; i < ABBREV_TABLES; i++) {
		const struct abbrevs *a = cache->tables[i];

		if (a && a->place == table->at && a->sizes.version == sizes.version &&
		    a->sizes.address == sizes.address && a->sizes.offset == sizes.offset)
			return a;
	}
	abbrevs_free(*slot);
	*slot = abbrevs_new(*table, sizes, budget);
	cache->next = (cache->next + 1) % ABBREV_TABLES;
	return *slot;
}

static uint64_t read_sized(struct bytes *b, unsigned int size)
{
	switch (size) {
	case 1:
		return bytes_u8(b);
	case 2:
		return bytes_u16(b);
	case 4:
		return bytes_u32(b);
	case 8:
		return bytes_u64(b);
	default:
		bytes_skip(b, size);
		return 0;
	}
}

/*
 * Returns the bytes of the unit, including its header; empty if the unit is in no section of
 * entries or longer than its section.
 */
static struct bytes find_unit(const struct debug_view *view, const uint8_t *header)
{
	static const enum debug_section_kind kinds[] = {DEBUG_INFO, DEBUG_TYPES};
	struct bytes none;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct debug_section *s = &view->at[kinds[i]];
		size_t offset = (uintptr_t)header - (uintptr_t)s->data;
		struct bytes b;
		bool is_64bit;
		uint64_t size;

		if (!s->data || offset >= s->size)
			continue;
		bytes_init(&b, header, s->size - offset);
		size = bytes_unit_length(&b, &is_64bit);
		if (b.failed || size > bytes_left(&b))
			break;
		bytes_init(&b, header, bytes_position(&b) + size);
		return b;
	}
	bytes_init(&none, NULL, 0);
	return none;
}

bool die_walk_open(struct die_walk *w, struct abbrev_cache *cache, const struct debug_view *view,
		   const uint8_t *header, struct step_budget *budget)
{
	struct bytes b = find_unit(view, header), table;
	struct die_sizes sizes;
	uint64_t offset;
	bool is_64bit;

	*w = (struct die_walk){.b = b, .budget = budget};
	bytes_unit_length(&b, &is_64bit);
	sizes.offset = is_64bit ? 8 : 4;
	sizes.version = bytes_u16(&b);
	if (sizes.version >= 5) {
		bytes_skip(&b, 1);
		sizes.address = bytes_u8(&b);
		offset = read_sized(&b, sizes.offset);
	} else {
		offset = read_sized(&b, sizes.offset);
		sizes.address = bytes_u8(&b);
	}
	if (b.failed || sizes.version < 2 || sizes.version > 5 ||
	    (sizes.address != 4 && sizes.address != 8) || offset >= view->at[DEBUG_ABBREV].size)
		return false;
	bytes_init(&table, view->at[DEBUG_ABBREV].data, view->at[DEBUG_ABBREV].size);
	bytes_seek(&table, offset);
	w->abbrevs = get_abbrevs(cache, &table, sizes, budget);
	return true;
}

static void skip_form(struct die_walk *w, uint64_t form)
{
	struct bytes *b = &w->b;
	int size = form_size(form, w->abbrevs->sizes);

	if (size >= 0) {
		bytes_skip(b, (size_t)size);
		return;
	}
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		while (bytes_u8(b) & 0x80)
			;
		break;
	case DW_FORM_string:
		bytes_cstr(b);
		break;
	case DW_FORM_exprloc:
	case DW_FORM_block:
		bytes_skip(b, bytes_uleb(b));
		break;
	case DW_FORM_block1:
		bytes_skip(b, bytes_u8(b));
		break;
	case DW_FORM_block2:
		bytes_skip(b, bytes_u16(b));
		break;
	case DW_FORM_block4:
		bytes_skip(b, bytes_u32(b));
		break;
	default:
		/*
		 * The size of unknown forms is unknown; DW_FORM_indirect is not used in practice.
		 */
		b->failed = true;
		break;
	}
}

static bool is_constant(uint64_t form)
{
	return form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4 ||
	       form == DW_FORM_data8 || form == DW_FORM_udata;
}

static bool is_reference(uint64_t form)
{
	return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
	       form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
}

/* The code range of an entry, as far as it has been read. */
struct extent {
	uint64_t low, high;
	bool has_low, has_high, is_size; /* is_size: `high` is relative to `low` */
};

static uint64_t read_number(struct die_walk *w, uint64_t form)
{
	int size = form_size(form, w->abbrevs->sizes);

	return size >= 0 ? read_sized(&w->b, (unsigned int)size) : bytes_uleb(&w->b);
}

static void read_value(struct die_walk *w, const struct die_step *step, struct die_entry *e,
		       struct extent *extent)
{
	uint64_t form = step->form, offset;

	if (step->value == DIE_SIBLING && is_reference(form)) {
		offset = read_number(w, form);
		if (offset < (size_t)(w->b.end - w->b.start))
			e->sibling = w->b.start + offset;
		return;
	}
	if (step->value != DIE_SIBLING && step->value != DIE_NO_VALUE)
		e->has_code = true;
	if (step->value == DIE_LOW_PC && form == DW_FORM_addr) {
		extent->low = read_number(w, form);
		extent->has_low = true;
	} else if (step->value == DIE_HIGH_PC && (form == DW_FORM_addr || is_constant(form))) {
		extent->high = read_number(w, form);
		extent->has_high = true;
		extent->is_size = form != DW_FORM_addr;
	} else {
		skip_form(w, form);
	}
}

static bool read_entry(struct die_walk *w, const uint8_t *at, uint64_t code, struct die_entry *e)
{
	const struct abbrev *abbrev = abbrevs_find(w->abbrevs, code);
	const struct die_step *step;
	struct extent extent = {0};

	if (!abbrev) {
		w->b.failed = true;
		return false;
	}
	*e = (struct die_entry){
		.at = at,
		.tag = abbrev->tag,
		.depth = w->depth,
		.has_children = abbrev->has_children,
	};
	step = w->abbrevs->steps.items + abbrev->first_step;
	for (uint32_t i = 0; i < abbrev->step_count; i++, step++) {
		if (!step->form)
			bytes_skip(&w->b, step->size);
		else
			read_value(w, step, e, &extent);
	}
	if (w->b.failed)
		return false;
	if (e->sibling && e->sibling <= w->b.at)
		e->sibling = NULL;
	e->is_plain = extent.has_low && extent.has_high;
	e->start = extent.low;
	e->end = extent.is_size ? extent.low + extent.high : extent.high;
	w->depth += e->has_children;
	return true;
}

/*
 * Reads the abbreviation code of the next entry; 0 ends a list of siblings. False if damaged, or
 * out of bytes or steps.
 */
static bool read_code(struct die_walk *w, uint64_t *code)
{
	if (!bytes_left(&w->b) || !step_budget_take(w->budget, 1)) {
		w->b.failed = true;
		return false;
	}
	*code = bytes_uleb(&w->b);
	return !w->b.failed;
}

void die_walk_enter(struct die_walk *w, const uint8_t *parent)
{
	struct die_entry e;
	uint64_t code;

	w->depth = 0;
	w->b.failed = parent < w->b.start || parent >= w->b.end;
	if (w->b.failed)
		return;
	w->b.at = parent;
	if (!read_code(w, &code) || !read_entry(w, parent, code, &e) || !e.has_children)
		w->b.failed = true;
	w->depth = 0;
}

bool die_walk_next(struct die_walk *w, struct die_entry *e)
{
	const uint8_t *at = w->b.at;
	uint64_t code;

	while (read_code(w, &code)) {
		if (code)
			return read_entry(w, at, code, e);
		if (!w->depth) {
			w->b.failed = true;
			return false;
		}
		w->depth--;
		at = w->b.at;
	}
	return false;
}

static void jump(struct die_walk *w, const struct die_entry *e)
{
	w->b.at = e->sibling;
	w->depth = e->depth;
}

void die_walk_skip(struct die_walk *w, const struct die_entry *e)
{
	unsigned int depth = e->depth;
	struct die_entry inner;
	uint64_t code;

	if (!e->has_children)
		return;
	if (e->sibling) {
		jump(w, e);
		return;
	}
	while (w->depth > depth) {
		const uint8_t *at = w->b.at;

		if (!read_code(w, &code))
			return;
		if (!code)
			w->depth--;
		else if (!read_entry(w, at, code, &inner))
			return;
		else if (inner.has_children && inner.sibling)
			jump(w, &inner);
	}
}

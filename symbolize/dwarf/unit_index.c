/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/unit_index.h"

#include "lib/base/bytes.h"

/* More kinds of sections than there are. */
#define MAX_COLUMNS 16

struct index_table {
	uint32_t version, column_count, row_count, slot_count;
	/* Each starts at its first element; bounds are checked. */
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
	/* DWARF 5 has 2 bytes of version and 2 of padding; GNU's form has 4 of version. */
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

/* Returns the row of the unit, from 1; 0: none. */
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

/* -1: a kind that is not read. */
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

/* SPDX-License-Identifier: MIT */
#include "lib/format/page/slab/slab_columns.h"

#include "lib/model/languages/language.h"

/* The types of rows, for columns. */
#define TABLE(name, block, parent, parent_type, member, type) typedef type row_##name;
#define FIXED(name, block, rows, member, type) typedef type row_##name;
#include "lib/format/page/slab/columns.def"

const struct slab_table_row slab_tables[SLAB_TABLE_COUNT] = {
#define TABLE(table, of_block, of_parent, parent_type, member, type) \
	[SLAB_##table] = {.name = #table, \
			  .block = of_block, \
			  .parent = SLAB_##of_parent, \
			  .offset = offsetof(parent_type, member), \
			  .row_size = sizeof(type)},
#define FIXED(table, of_block, rows, member, type) \
	[SLAB_##table] = {.name = #table, \
			  .block = of_block, \
			  .parent = SLAB_NONE, \
			  .offset = offsetof(struct profile, member), \
			  .row_size = sizeof(type), \
			  .fixed = rows},
#include "lib/format/page/slab/columns.def"
};

const struct slab_column slab_columns[] = {
#define COLUMN(of_table, of_block, member, of_kind, most) \
	{.name = #of_table "." #member, \
	 .table = SLAB_##of_table, \
	 .block = of_block, \
	 .kind = of_kind, \
	 .limit = most, \
	 .offset = offsetof(row_##of_table, member), \
	 .size = sizeof(((row_##of_table *)0)->member)},
#include "lib/format/page/slab/columns.def"
};

const size_t slab_column_count = sizeof(slab_columns) / sizeof(slab_columns[0]);

static char *parent_row(const struct profile *p, enum slab_table table, size_t parent)
{
	enum slab_table above = slab_tables[table].parent;
	struct any_vec rows;

	if (above == SLAB_NONE)
		return (char *)p;
	rows = slab_rows(p, above, 0);
	return (char *)rows.items + parent * slab_tables[above].row_size;
}

struct any_vec slab_rows(const struct profile *p, enum slab_table table, size_t parent)
{
	const struct slab_table_row *row = &slab_tables[table];
	char *at = parent_row(p, table, parent) + row->offset;
	struct any_vec rows = {at, row->fixed, row->fixed};

	if (!row->fixed)
		memcpy(&rows, at, sizeof(rows));
	return rows;
}

void slab_set_rows(struct profile *p, enum slab_table table, size_t parent, struct any_vec rows)
{
	memcpy(parent_row(p, table, parent) + slab_tables[table].offset, &rows, sizeof(rows));
}

size_t slab_parents(const struct profile *p, enum slab_table table)
{
	enum slab_table above = slab_tables[table].parent;

	return above == SLAB_NONE ? 1 : slab_rows(p, above, 0).count;
}

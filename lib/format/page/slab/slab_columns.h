/* SPDX-License-Identifier: MIT */
/* The tables of a slab and their columns, as defined in columns.def. */
#pragma once

#include "lib/format/page/slab/slab.h"
#include "lib/model/tables/samples.h"

#define SLAB_MAGIC "PROFSLAB"
#define SLAB_VERSION 2u
/* The oldest version that is read: its samples are columns. */
#define SLAB_VERSION_MIN 1u
/* The column of samples: chunks of rows by row_planes_pack(), each after a struct slab_chunk. */
#define SLAB_CHUNKS "CHUNKS"

/* Rows of tables with a single value. */
struct slab_text {
	char *text;
};
struct slab_number {
	uint64_t number;
};
struct slab_byte {
	uint8_t byte;
};

/* Chunks of a thread are in order of time. */
struct slab_chunk {
	uint32_t thread;
	uint32_t count; /* rows, at most SLAB_CHUNK_ROWS */
	uint32_t size; /* their bytes */
};
/* Enough that the bytes of a column take most of a block of deflate. */
#define SLAB_CHUNK_ROWS 65536u

enum slab_table {
#define TABLE(name, ...) SLAB_##name,
#define FIXED(name, ...) SLAB_##name,
#include "lib/format/page/slab/columns.def"
	SLAB_TABLE_COUNT,
	SLAB_NONE = SLAB_TABLE_COUNT,
};

enum column_kind {
	COLUMN_NUMBER, /* number below `limit`; limit 0: any number */
	COLUMN_SIGNED, /* number that is often negative */
	COLUMN_ASCENDING, /* number, as the difference from the previous row of the same parent */
	COLUMN_NEAR, /* as COLUMN_ASCENDING, for numbers that also fall */
	COLUMN_ID, /* row of table `limit`, or UINT32_MAX */
	COLUMN_NEAR_ID, /* as COLUMN_ID, close to the previous row's value */
	COLUMN_ROW, /* row of table `limit` */
	COLUMN_PARENT, /* earlier row of the same table, or UINT32_MAX */
	COLUMN_VALUE, /* struct marker_value, whose type is in an earlier column */
	COLUMN_BYTES, /* raw bytes of the member */
	COLUMN_TEXT, /* owned char *, which may be NULL */
	COLUMN_SIZED_TEXT, /* owned char * followed by its size_t */
	COLUMN_FORMAT, /* static text with a marker format */
};

struct slab_column {
	const char *name; /* "FRAMES.line" */
	enum slab_table table;
	enum slab_block block;
	enum column_kind kind;
	uint32_t limit;
	size_t offset, size; /* of the member within a row */
};

struct slab_table_row {
	const char *name;
	enum slab_block block;
	enum slab_table parent; /* SLAB_NONE: the profile */
	size_t offset; /* offset of the VEC in a row of the parent; for FIXED tables, offset of the
			  rows */
	size_t row_size;
	size_t fixed; /* number of rows; 0: the rows are in a VEC */
};

extern const struct slab_column slab_columns[];
extern const size_t slab_column_count;
extern const struct slab_table_row slab_tables[SLAB_TABLE_COUNT];

/* The layout common to all VECs. */
struct any_vec {
	void *items;
	size_t count, capacity;
};

/*
 * Returns the rows that belong to a row of the parent; the first `count` are in use. Samples must
 * be open.
 */
struct any_vec slab_rows(const struct profile *p, enum slab_table table, size_t parent);
void slab_set_rows(struct profile *p, enum slab_table table, size_t parent, struct any_vec rows);
/* Returns the number of rows of the parent, 1 for the profile. */
size_t slab_parents(const struct profile *p, enum slab_table table);

/* Returns the address of the column's value in the first row; NULL without rows. */
static inline char *slab_member(const struct any_vec *rows, const struct slab_column *c)
{
	return rows->count ? (char *)rows->items + c->offset : NULL;
}

/* Checks every invariant of a profile that other rooms rely on. */
int slab_check(struct profile *p, struct error *err);

static inline uint64_t zigzag(uint64_t value)
{
	return value << 1 ^ (uint64_t)((int64_t)value >> 63);
}

static inline uint64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

/*
 * Codes a chunk of samples as columns of bytes that are fast to read, and compress well: each
 * column as its lowest value and the distances from it, in as few bytes as the chunk needs, the
 * lowest bytes of all rows first.
 */

/* Upper bound for the bytes of `count` rows. */
#define ROW_PLANES_MAX(count) ((size_t)(count)*48 + 64)

/* Codes rows in order of time; `out` has room for ROW_PLANES_MAX(count). Returns the size. */
size_t row_planes_pack(const struct sample *rows, size_t count, unsigned char *out);
/* Decodes `count` rows. Returns false unless they take all of the bytes; rows are then undefined.
 */
bool row_planes_unpack(const unsigned char *bytes, size_t size, struct sample *rows, size_t count);

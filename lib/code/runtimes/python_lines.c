/* SPDX-License-Identifier: MIT */
/*
 * The three line tables of CPython: co_lnotab until 3.9 and co_linetable of 3.10
 * (Objects/lnotab_notes.txt of their sources), the location table from 3.11 on
 * (InternalDocs/code_objects.md).
 */
#include "lib/base/bytes.h"
#include "lib/code/runtimes/python.h"

struct line_rows {
	struct managed_code *code;
	uint32_t units; /* of the function: rows after its end are dropped */
	uint32_t first_line;
};

/* Lines of hostile tables may be anything. */
static uint32_t line_number(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/*
 * Says that a line begins at a unit, which never decreases. The instructions that enter the
 * function, which may have no line, get that of the definition.
 */
static void add_row(const struct line_rows *rows, uint64_t unit, int64_t line)
{
	struct managed_line row = {.unit = (uint32_t)unit, .line = line_number(line)};
	struct managed_code *code = rows->code;

	if (!unit && !row.line)
		row.line = rows->first_line;
	if (unit >= rows->units)
		return;
	/* The last word on a unit holds. */
	if (code->lines.count && vec_last(&code->lines).unit == row.unit)
		code->lines.count--;
	if (!code->lines.count || vec_last(&code->lines).line != row.line)
		vec_push(&code->lines, row);
}

/* Pairs: so many bytes of code, then so many lines more. */
static void read_lnotab(const struct line_rows *rows, struct bytes *b, int64_t line)
{
	uint64_t at = 0;

	add_row(rows, 0, line);
	while (bytes_left(b) >= 2) {
		at += bytes_u8(b);
		line += (int8_t)bytes_u8(b);
		add_row(rows, (at + PYTHON_UNIT - 1) / PYTHON_UNIT, line);
	}
}

#define LINETABLE_NONE -128

/* Pairs: the line grows by so many, and holds for so many bytes of code. */
static void read_linetable(const struct line_rows *rows, struct bytes *b, int64_t line)
{
	uint64_t at = 0;

	while (bytes_left(b) >= 2) {
		uint8_t size = bytes_u8(b);
		int8_t delta = (int8_t)bytes_u8(b);

		if (delta != LINETABLE_NONE)
			line += delta;
		if (size)
			add_row(rows, at / PYTHON_UNIT, delta == LINETABLE_NONE ? 0 : line);
		at += size;
	}
}

/* Six bits a byte, the lowest first. */
static uint64_t read_varint(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		if (shift < 60)
			value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int64_t read_signed_varint(struct bytes *b)
{
	uint64_t value = read_varint(b);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Kinds of entries; those below LOCATION_ONE_LINE are short. */
enum {
	LOCATION_ONE_LINE = 10, /* 10 to 12: on the line plus 0 to 2 */
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* Returns by how much the line grows; skips columns and ends. */
static int64_t read_location(struct bytes *b, unsigned int kind)
{
	int64_t delta;

	switch (kind) {
	case LOCATION_NONE:
		return 0;
	case LOCATION_LONG:
		delta = read_signed_varint(b);
		for (int i = 0; i < 3; i++)
			read_varint(b);
		return delta;
	case LOCATION_NO_COLUMNS:
		return read_signed_varint(b);
	default:
		if (kind < LOCATION_ONE_LINE) {
			bytes_skip(b, 1);
			return 0;
		}
		bytes_skip(b, 2);
		return kind - LOCATION_ONE_LINE;
	}
}

static void read_locations(const struct line_rows *rows, struct bytes *b, int64_t line)
{
	uint64_t unit = 0;

	while (bytes_left(b)) {
		uint8_t first = bytes_u8(b);
		unsigned int kind = first >> 3 & 15;
		int64_t delta;

		/* Each entry begins with a byte that has the highest bit, and no other has. */
		if (!(first & 0x80))
			return;
		delta = read_location(b, kind);
		if (b->failed || __builtin_add_overflow(line, delta, &line))
			return;
		add_row(rows, unit, kind == LOCATION_NONE ? 0 : line);
		unit += (first & 7) + 1;
	}
}

void python_lines(uint16_t version, const void *table, size_t size, uint32_t first_line,
		  uint32_t units, struct managed_code *code)
{
	const struct line_rows rows = {
		.code = code, .units = units, .first_line = line_number(first_line)};
	struct bytes b;

	vec_clear(&code->lines);
	bytes_init(&b, table, size);
	if (version >= PYTHON_VERSION(11))
		read_locations(&rows, &b, first_line);
	else if (version == PYTHON_VERSION(10))
		read_linetable(&rows, &b, first_line);
	else
		read_lnotab(&rows, &b, first_line);
}

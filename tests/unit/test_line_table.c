/* SPDX-License-Identifier: MIT */

#include <dwarf.h>
#include <string.h>

#include "lib/code/binary/line_table.h"
#include "tests/unit/test.h"

#define LINE_STR "\0/build\0lib\0a.c\0b.c"
#define STR "\0c.c"

static const uint8_t address_1000[] = {0, 9, DW_LNE_set_address, 0, 0x10, 0, 0, 0, 0, 0, 0};
static const uint8_t end[] = {0, 1, DW_LNE_end_sequence};
static const uint8_t copy[] = {DW_LNS_copy};

/* Special opcodes advance lines by -3 … 8 and addresses by (opcode - 13) / 12. */
#define SPECIAL(addr, line) (uint8_t)(13 + 12 * (addr) + (line) + 3)

static const uint8_t old_lists[] = "lib\0\0a.c\0\0\0\0b.c\0\1\0\0";
static const uint8_t new_lists[] = {
	1,
	DW_LNCT_path,
	DW_FORM_line_strp,
	2,
	1,
	0,
	0,
	0,
	8,
	0,
	0,
	0, /* directories */
	3,
	DW_LNCT_path,
	DW_FORM_line_strp,
	DW_LNCT_directory_index,
	DW_FORM_udata,
	DW_LNCT_MD5,
	DW_FORM_data16,
	2,
	12,
	0,
	0,
	0,
	0, /* a.c in /build */
	1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
	16,
	16,
	0,
	0,
	0,
	1, /* b.c in lib */
	1,
	2,
	3,
	4,
	5,
	6,
	7,
	8,
	9,
	10,
	11,
	12,
	13,
	14,
	15,
	16,
};

static void put(struct strbuf *out, uint64_t value, size_t size)
{
	strbuf_add(out, &value, size);
}

struct shape {
	unsigned int version;
	uint8_t line_range, operations;
	bool is_64bit;
};

/* Builds the table of that program. */
static void build(struct strbuf *out, struct shape shape, const struct strbuf *program)
{
	static const uint8_t counts[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
	struct strbuf fields = {0}, body = {0};
	size_t offset_size = shape.is_64bit ? 8 : 4;

	put(&fields, 1, 1);
	if (shape.version >= 4)
		put(&fields, shape.operations, 1);
	put(&fields, 1, 1);
	put(&fields, (uint8_t)-3, 1);
	put(&fields, shape.line_range, 1);
	put(&fields, 13, 1);
	strbuf_add(&fields, counts, sizeof(counts));
	if (shape.version >= 5)
		strbuf_add(&fields, new_lists, sizeof(new_lists));
	else
		strbuf_add(&fields, old_lists, sizeof(old_lists));
	put(&body, shape.version, 2);
	if (shape.version >= 5)
		put(&body, 8, 2);
	put(&body, fields.size, offset_size);
	strbuf_add(&body, fields.text, fields.size);
	strbuf_add(&body, program->text, program->size);
	if (shape.is_64bit)
		put(out, UINT32_MAX, 4);
	put(out, body.size, offset_size);
	strbuf_add(out, body.text, body.size);
	strbuf_release(&fields);
	strbuf_release(&body);
}

static void read_from(struct line_table *t, const struct strbuf *section, uint64_t work)
{
	struct step_budget left = {work};
	struct line_sections sections;

	bytes_init(&sections.line, section->text, section->size);
	bytes_init(&sections.line_str, LINE_STR, sizeof(LINE_STR));
	bytes_init(&sections.str, STR, sizeof(STR));
	*t = (struct line_table){0};
	line_table_read(t, &sections, 0, &left);
}

static void read_program(struct line_table *t, struct shape shape, struct strbuf *program)
{
	struct strbuf section = {0};

	build(&section, shape, program);
	read_from(t, &section, section.size);
	/* Names point into the sections; those of old tables are freed by now. */
	strbuf_release(&section);
	strbuf_release(program);
}

#define ADD(program, ...) \
	do { \
		const uint8_t bytes_[] = {__VA_ARGS__}; \
		strbuf_add(program, bytes_, sizeof(bytes_)); \
	} while (0)

static void check(const struct line_table *t, uint64_t addr, uint32_t file, uint32_t line)
{
	const struct line_row *row = line_table_find(t, addr);

	assert_non_null(row);
	assert_int_equal(row->file, file);
	assert_int_equal(row->line, line);
}

static void start(struct strbuf *program)
{
	*program = (struct strbuf){0};
	strbuf_add(program, address_1000, sizeof(address_1000));
}

static void finish(struct strbuf *program)
{
	strbuf_add(program, end, sizeof(end));
}

TEST(all_opcodes_in_all_versions)
{
	for (unsigned int version = 2; version <= 5; version++) {
		struct strbuf program;
		struct line_table t;

		start(&program);
		ADD(&program, DW_LNS_advance_line, 9, DW_LNS_copy); /* 1000: 10 */
		ADD(&program, SPECIAL(4, -2)); /* 1004: 8 */
		ADD(&program, DW_LNS_set_column, 0x80, 1, DW_LNS_negate_stmt, SPECIAL(4, 0));
		ADD(&program, DW_LNS_set_file, 2, DW_LNS_advance_pc, 0x88, 1, SPECIAL(0, 8));
		ADD(&program, DW_LNS_fixed_advance_pc, 0, 1, DW_LNS_set_isa, 1, DW_LNS_copy);
		ADD(&program, DW_LNS_const_add_pc, DW_LNS_advance_line, 0x7f, DW_LNS_copy);
		ADD(&program, DW_LNS_set_prologue_end, DW_LNS_set_epilogue_begin);
		ADD(&program, 0, 2, 0x77, 1, DW_LNS_set_basic_block, DW_LNS_advance_pc, 1);
		finish(&program);
		read_program(&t, (struct shape){version, 12, 1, version == 3}, &program);
		assert_null(line_table_find(&t, 0xfff));
		check(&t, 0x1000, 1, 10);
		check(&t, 0x1003, 1, 10);
		check(&t, 0x1004, 1, 8);
		check(&t, 0x108f, 1, 8);
		check(&t, 0x1090, 2, 16);
		check(&t, 0x11a3, 2, 16);
		check(&t, 0x11a4, 2, 15);
		assert_null(line_table_find(&t, 0x11a5));
		assert_int_equal(t.rows.count, 4);
		line_table_release(&t);
	}
}

TEST(directories_and_files)
{
	struct strbuf program = {0}, section = {0};
	struct line_table t;

	ADD(&program, 0, 8, DW_LNE_define_file, 'd', '.', 'c', 0, 1, 0, 0);
	build(&section, (struct shape){4, 12, 1, false}, &program);
	read_from(&t, &section, section.size);
	assert_int_equal(t.dirs.count, 2);
	assert_null(t.dirs.items[0]);
	assert_string_equal(t.dirs.items[1], "lib");
	assert_int_equal(t.files.count, 4);
	assert_null(t.files.items[0].name);
	assert_string_equal(t.files.items[1].name, "a.c");
	assert_string_equal(t.files.items[2].name, "b.c");
	assert_int_equal(t.files.items[2].dir, 1);
	assert_string_equal(t.files.items[3].name, "d.c");
	line_table_release(&t);
	strbuf_reset(&program);
	read_program(&t, (struct shape){5, 12, 1, false}, &program);
	assert_string_equal(t.dirs.items[0], "/build");
	assert_string_equal(t.dirs.items[1], "lib");
	assert_int_equal(t.files.count, 2);
	assert_string_equal(t.files.items[0].name, "a.c");
	assert_string_equal(t.files.items[1].name, "b.c");
	assert_int_equal(t.files.items[1].dir, 1);
	line_table_release(&t);
	strbuf_release(&section);
}

/* Sequences and rows in any order; the last row for an address wins. */
TEST(order)
{
	static const uint8_t address_100[] = {0, 5, DW_LNE_set_address, 0, 1, 0, 0};
	struct strbuf program;
	struct line_table t;

	start(&program);
	ADD(&program, SPECIAL(8, 1), SPECIAL(0, 1), SPECIAL(0, 1), SPECIAL(8, 1)); /* 4, then 5 */
	ADD(&program, 0, 9, DW_LNE_set_address, 2, 0x10, 0, 0, 0, 0, 0, 0, SPECIAL(0, 1));
	ADD(&program, SPECIAL(0, 2), DW_LNS_advance_pc, 0x20); /* 1002: 8; ends at 1022 */
	finish(&program);
	strbuf_add(&program, address_100, sizeof(address_100));
	strbuf_add(&program, copy, sizeof(copy));
	ADD(&program, DW_LNS_advance_pc, 0x10);
	finish(&program);
	/* A sequence without an end does not count. */
	strbuf_add(&program, address_100, sizeof(address_100));
	ADD(&program, SPECIAL(2, 7));
	read_program(&t, (struct shape){5, 12, 1, false}, &program);
	check(&t, 0x1002, 1, 8);
	check(&t, 0x1008, 1, 4);
	check(&t, 0x1010, 1, 5);
	check(&t, 0x1021, 1, 5);
	assert_null(line_table_find(&t, 0x1022));
	check(&t, 0x102, 1, 1);
	assert_null(line_table_find(&t, 0x110));
	line_table_release(&t);
}

TEST(several_operations_in_an_instruction)
{
	struct strbuf program;
	struct line_table t;

	start(&program);
	ADD(&program, SPECIAL(2, 1), SPECIAL(2, 1), SPECIAL(3, 1));
	finish(&program);
	read_program(&t, (struct shape){4, 12, 3, false}, &program);
	check(&t, 0x1000, 1, 2);
	check(&t, 0x1001, 1, 3);
	assert_null(line_table_find(&t, 0x1002));
	line_table_release(&t);
}

TEST(damage_ends_the_table)
{
	struct strbuf program, section = {0};
	struct line_table t;

	start(&program);
	ADD(&program, SPECIAL(2, 1), SPECIAL(2, 1));
	finish(&program);
	build(&section, (struct shape){5, 12, 1, false}, &program);
	for (size_t size = 0; size < section.size; size++) {
		struct strbuf cut = {.text = section.text, .size = size};

		read_from(&t, &cut, section.size);
		assert_null(line_table_find(&t, 0x1002));
		line_table_release(&t);
	}
	read_from(&t, &section, section.size - 5);
	assert_null(line_table_find(&t, 0x1002));
	line_table_release(&t);
	read_program(&t, (struct shape){4, 0, 1, false}, &program);
	assert_int_equal(t.rows.count, 0);
	line_table_release(&t);
	strbuf_release(&section);
}

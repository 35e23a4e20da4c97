/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "symbolize/dwarf/debug_info.h"
#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

static const uint8_t abbreviations[] = {
	/* 1: a unit, with its name in the entry and a constant in none */
	1,
	DW_TAG_compile_unit,
	1,
	DW_AT_name,
	DW_FORM_string,
	DW_AT_language,
	DW_FORM_implicit_const,
	0x80,
	0x7f,
	0,
	0,
	/* 2: a namespace that tells its end */
	2,
	DW_TAG_namespace,
	1,
	DW_AT_sibling,
	DW_FORM_ref4,
	0,
	0,
	/* 3: a function, by first and last address */
	3,
	DW_TAG_subprogram,
	0,
	DW_AT_decl_line,
	DW_FORM_udata,
	DW_AT_low_pc,
	DW_FORM_addr,
	DW_AT_high_pc,
	DW_FORM_addr,
	0,
	0,
	/* 4: a function by size, with children */
	4,
	DW_TAG_subprogram,
	1,
	DW_AT_low_pc,
	DW_FORM_addr,
	DW_AT_high_pc,
	DW_FORM_data1,
	DW_AT_frame_base,
	DW_FORM_exprloc,
	0,
	0,
	/* 5: a function in several ranges */
	5,
	DW_TAG_subprogram,
	0,
	DW_AT_ranges,
	DW_FORM_sec_offset,
	0,
	0,
	/* 6: a declaration with an unknown form */
	6,
	DW_TAG_subprogram,
	0,
	DW_AT_name,
	0x7f,
	0,
	0,
	/* The next code is not 7. */
	9,
	DW_TAG_variable,
	0,
	DW_AT_decl_file,
	DW_FORM_data2,
	DW_AT_type,
	DW_FORM_ref4,
	0,
	0,
	0,
};

struct made_unit {
	struct strbuf bytes;
	struct abbrev_cache cache;
	struct step_budget budget;
};

static void add(struct made_unit *u, uint64_t value, size_t size)
{
	strbuf_add(&u->bytes, &value, size);
}

/* DWARF 5; returns the place of the root. */
static size_t begin_unit(struct made_unit *u)
{
	add(u, 0, 4);
	add(u, 5, 2);
	add(u, DW_UT_compile, 1);
	add(u, 8, 1);
	add(u, 0, 4);
	add(u, 1, 1);
	strbuf_add(&u->bytes, "a", 2);
	return 12;
}

static void add_entries(struct made_unit *u)
{
	add(u, 2, 1);
	add(u, 12 + 3 + 5 + 20 + 7, 4); /* the entry behind its children */
	add(u, 3, 1);
	add(u, 0x81, 2); /* 129 with the next byte, a line */
	u->bytes.text[u->bytes.size - 1] = 1;
	add(u, 0x1000, 8);
	add(u, 0x1010, 8);
	add(u, 0, 1);
	add(u, 9, 1);
	add(u, 0, 6);
	/* Behind the namespace: */
	add(u, 4, 1);
	add(u, 0x2000, 8);
	add(u, 0x20, 1);
	add(u, 1, 1);
	add(u, 0, 1);
	add(u, 9, 1);
	add(u, 0, 6);
	add(u, 0, 1);
	add(u, 5, 1);
	add(u, 0x40, 4);
	add(u, 0, 1);
}

static void end_unit(struct made_unit *u)
{
	uint32_t size = (uint32_t)u->bytes.size - 4;

	memcpy(u->bytes.text, &size, sizeof(size));
}

/*
 * Formats each entry as "tag@depth start-end"; '!' marks ranges to look up, '>' skipped children.
 */
static const char *walk(struct made_unit *u, size_t root, int left_out)
{
	static char text[512];
	/* A block of exact size, so that sanitizers see reads beyond it. */
	uint8_t *copy = malloc(u->bytes.size);
	struct debug_view view = {0};
	struct die_walk w;
	struct die_entry e;
	size_t used = 0;

	memcpy(copy, u->bytes.text, u->bytes.size);
	view.at[DEBUG_INFO] = (struct debug_section){copy, u->bytes.size};
	view.at[DEBUG_ABBREV] = (struct debug_section){abbreviations, sizeof(abbreviations)};
	u->budget.left = 1000;
	assert_true(die_walk_open(&w, &u->cache, &view, copy, &u->budget));
	text[0] = '\0';
	die_walk_enter(&w, copy + root);
	while (die_walk_next(&w, &e)) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%x@%u", e.tag, e.depth);
		if (e.is_plain)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %x-%x",
						 (unsigned int)e.start, (unsigned int)e.end);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
					 !e.is_plain && e.has_code ? "!" : "");
		if ((int)e.tag == left_out)
			die_walk_skip(&w, &e);
	}
	free(copy);
	return text;
}

static void release(struct made_unit *u)
{
	abbrev_cache_release(&u->cache);
	strbuf_release(&u->bytes);
}

TEST(test_entries)
{
	struct made_unit u = {0};
	size_t root = begin_unit(&u);

	add_entries(&u);
	end_unit(&u);
	assert_string_equal(walk(&u, root, 0),
			    "39@0 2e@1 1000-1010 34@0 2e@0 2000-2020 34@1 2e@0! ");
	/*
	 * Skips children by the end that the entry tells, which leaves out more here, and by
	 * walking.
	 */
	assert_string_equal(walk(&u, root, DW_TAG_namespace), "39@0 2e@0 2000-2020 34@1 2e@0! ");
	assert_string_equal(walk(&u, root, DW_TAG_subprogram),
			    "39@0 2e@1 1000-1010 34@0 2e@0 2000-2020 2e@0! ");
	release(&u);
}

/* A prefix of a unit yields a prefix of its entries. */
TEST(test_cut_off)
{
	struct made_unit u = {0};
	size_t root = begin_unit(&u), size;
	char *whole;

	add_entries(&u);
	end_unit(&u);
	whole = strdup(walk(&u, root, 0));
	for (size = u.bytes.size - 1; size > root; size--) {
		const char *part;

		u.bytes.size = size;
		end_unit(&u);
		part = walk(&u, root, 0);
		assert_memory_equal(part, whole, strlen(part));
	}
	free(whole);
	release(&u);
}

TEST(test_damaged)
{
	struct made_unit u = {0};
	size_t root = begin_unit(&u);
	struct debug_view view = {0};
	struct die_walk w;

	add(&u, 5, 1);
	add(&u, 0x40, 4);
	add(&u, 6, 1); /* a form of unknown length */
	add(&u, 5, 1);
	add(&u, 0x40, 4);
	end_unit(&u);
	assert_string_equal(walk(&u, root, 0), "2e@0! ");
	/* An entry without a description. */
	u.bytes.text[root + 3 + 5] = 8;
	assert_string_equal(walk(&u, root, 0), "2e@0! ");
	/* No abbreviations, then an invalid header. */
	view.at[DEBUG_INFO] = (struct debug_section){(const uint8_t *)u.bytes.text, u.bytes.size};
	assert_false(die_walk_open(&w, &u.cache, &view, view.at[DEBUG_INFO].data, &u.budget));
	view.at[DEBUG_ABBREV] = (struct debug_section){abbreviations, sizeof(abbreviations)};
	assert_false(die_walk_open(&w, &u.cache, &view, view.at[DEBUG_INFO].data + 1, &u.budget));
	assert_false(die_walk_open(&w, &u.cache, &view, abbreviations, &u.budget));
	release(&u);
}

struct compared {
	struct die_walk walk;
	size_t count;
};

/* Compares with libdw's entries, level by level. */
static void compare_children(struct compared *c, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;
	int ret;

	for (ret = dwarf_child(parent, &die); ret == 0; ret = dwarf_siblingof(&die, &die)) {
		Dwarf_Addr start, end;
		struct die_entry e;

		assert_true(die_walk_next(&c->walk, &e));
		assert_ptr_equal(e.at, die.addr);
		assert_int_equal(e.tag, dwarf_tag(&die));
		assert_int_equal(e.depth, depth);
		assert_int_equal(e.has_children, dwarf_haschildren(&die));
		assert_int_equal(e.has_code, dwarf_hasattr(&die, DW_AT_low_pc) ||
						     dwarf_hasattr(&die, DW_AT_high_pc) ||
						     dwarf_hasattr(&die, DW_AT_ranges));
		if (e.is_plain) {
			assert_int_equal(dwarf_lowpc(&die, &start), 0);
			assert_int_equal(dwarf_highpc(&die, &end), 0);
			assert_int_equal(e.start, start);
			assert_int_equal(e.end, end);
		}
		c->count++;
		compare_children(c, &die, depth + 1);
	}
	assert_int_equal(ret, 1);
}

TEST(test_own_program)
{
	struct debug_sections sections;
	struct abbrev_cache cache = {0};
	struct step_budget budget = {UINT64_MAX};
	Dwarf_CU *cu = NULL, *next;
	size_t count = 0;
	struct Elf *elf;
	Dwarf_Die root;
	Dwarf *dwarf;

	assert_int_equal(debug_sections_open(&sections, own_fd(), DEBUG_FILE_WHOLE, NULL), 0);
	elf = debug_view_begin(&sections.view);
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	assert_non_null(dwarf);
	while (dwarf_get_units(dwarf, cu, &next, NULL, NULL, &root, NULL) == 0) {
		struct compared c = {0};

		cu = next;
		assert_true(die_walk_open(&c.walk, &cache, &sections.view,
					  (const uint8_t *)root.addr - dwarf_cuoffset(&root),
					  &budget));
		die_walk_enter(&c.walk, root.addr);
		compare_children(&c, &root, 0);
		count += c.count;
	}
	assert_true(count > 1000);
	abbrev_cache_release(&cache);
	dwarf_end(dwarf);
	debug_view_end(elf);
	debug_sections_release(&sections);
}

/* SPDX-License-Identifier: MIT */
#include "tests/unit/walk_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"

static void set_row(struct world *w, uint32_t func, uint32_t rule)
{
	struct unwind_row row = {
		.pc_low = (uint16_t)(func * WORLD_FUNC_SIZE % UNWIND_PAGE_SIZE),
		.rule = (uint16_t)rule,
	};

	memcpy(w->words + WORLD_PAGES + 1 + func, &row, sizeof(row));
}

static void fill_table(struct world *w)
{
	uint32_t per_page = UNWIND_PAGE_SIZE / WORLD_FUNC_SIZE;

	for (uint32_t page = 0; page <= WORLD_PAGES; page++)
		w->words[page] = page * per_page;
	for (uint32_t n = 0; n < WORLD_FUNCS; n++)
		set_row(w, n, UNWIND_RULE_NONE);
}

static bool read_code(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct world *w = ctx;

	if (addr < WORLD_CODE || addr + size > WORLD_CODE + sizeof(w->code))
		return false;
	memcpy(to, w->code + (addr - WORLD_CODE), size);
	return true;
}

static void fill_target(struct world *w)
{
	w->target = (struct walk_target){
		.methods = UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
		.mappings = w->mappings,
		.mapping_count = 2,
		.shards = &w->shard,
		.shard_count = 1,
		.rules = w->rules,
		.rule_count = sizeof(w->rules) / sizeof(w->rules[0]),
		.stack_start = WORLD_STACK,
		.stack = (const uint8_t *)w->stack,
		.stack_size = sizeof(w->stack),
		.read_code = read_code,
		.ctx = w,
	};
}

int world_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->mappings[0] = (struct unwind_mapping){
		.start = WORLD_CODE,
		.end = WORLD_CODE + sizeof(w->code),
		.bias = WORLD_CODE - WORLD_VADDR,
		.table_start = WORLD_VADDR,
		.rows_at = WORLD_PAGES + 1,
		.page_count = WORLD_PAGES,
		.flags = UNWIND_HAS_TABLE,
	};
	w->mappings[1] = (struct unwind_mapping){.start = WORLD_ANON,
						 .end = WORLD_ANON + UNWIND_PAGE_SIZE};
	w->rules[UNWIND_RULE_END] = END;
	w->shard = (struct walk_shard){w->words, sizeof(w->words) / sizeof(w->words[0])};
	fill_table(w);
	fill_target(w);
	w->regs.pc = IN(0);
	w->regs.sp = WORLD_SP;
	w->path = (struct walk_path){.addrs = w->addrs, .kinds = w->kinds, .capacity = WORLD_DEPTH};
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	free(*state);
	return 0;
}

void world_set_rule(struct world *w, uint32_t func, struct unwind_rule rule)
{
	assert_true(func < WORLD_FUNCS);
	set_row(w, func, rule.cfa_kind == UNWIND_CFA_NONE ? 0 : UNWIND_RULE_FIRST + func);
	w->rules[UNWIND_RULE_FIRST + func] = rule;
}

void world_store(struct world *w, int offset, uint64_t value)
{
	int word = WORLD_SP_WORD + offset / 8;

	assert_true(offset % 8 == 0 && word >= 0 && word < WORLD_STACK_WORDS);
	w->stack[word] = value;
}

void world_set_reg(struct world *w, uint32_t dwarf_reg, uint64_t value)
{
	w->regs.general[dwarf_reg] = value;
}

void world_put_code_before(struct world *w, uint64_t addr, const char *bytes, size_t size)
{
	assert_true(addr - size >= WORLD_CODE && addr - WORLD_CODE <= sizeof(w->code));
	memcpy(w->code + (addr - WORLD_CODE - size), bytes, size);
}

void world_walk(struct world *w)
{
	walk_stack(&w->target, &w->regs, &w->path);
}

void world_expect(struct world *w, uint8_t flags, const uint64_t *addrs, size_t count)
{
	world_walk(w);
	for (size_t i = 0; i < count && i < w->path.depth; i++)
		assert_int_equal(w->addrs[i], addrs[i]);
	assert_int_equal(w->path.depth, count);
	assert_int_equal(w->path.flags, flags);
}

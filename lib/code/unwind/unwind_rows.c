/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/unwind_rows.h"

#include <assert.h>

INDEX_EQUAL(rule_equal, struct unwind_rules, rows, memcmp(a, b, sizeof(*a)) == 0)

static uint64_t rule_hash(const struct unwind_rule *rule)
{
	struct rule_words words = rule_pack(rule);

	return hash_pair(words.low, words.high);
}

void unwind_rules_init(struct unwind_rules *rules)
{
	static const struct unwind_rule fixed[UNWIND_RULE_FIRST] = {
		[UNWIND_RULE_NONE] = {.cfa_kind = UNWIND_CFA_NONE},
		[UNWIND_RULE_END] = {.cfa_kind = UNWIND_CFA_END},
	};

	*rules = (struct unwind_rules){0};
	for (uint32_t id = 0; id < UNWIND_RULE_FIRST; id++) {
		vec_push(&rules->rows, fixed[id]);
		index_add(&rules->index, rule_hash(&fixed[id]), id);
	}
}

void unwind_rules_release(struct unwind_rules *rules)
{
	vec_release(&rules->rows);
	index_release(&rules->index);
}

static uint32_t find_rule(const struct unwind_rules *rules, const struct unwind_rule *rule)
{
	return index_find(&rules->index, rule_hash(rule), rule_equal, rules, rule);
}

static uint16_t add_rule(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	uint32_t id = (uint32_t)rules->rows.count;

	if (id >= UNWIND_RULES_MAX)
		return UNWIND_RULE_NONE;
	vec_push(&rules->rows, *rule);
	index_add(&rules->index, rule_hash(rule), id);
	return (uint16_t)id;
}

uint16_t unwind_rules_intern(struct unwind_rules *rules, const struct unwind_rule *rule)
{
	uint32_t id = find_rule(rules, rule);

	return id != INDEX_NONE ? (uint16_t)id : add_rule(rules, rule);
}

void rows_init(struct rows *rows, struct unwind_table *table, struct unwind_rules *rules,
	       uint64_t code_size)
{
	uint64_t pages = (code_size >> UNWIND_PAGE_SHIFT) + ROWS_MAX_GAP_PAGES;

	memset(rows, 0, sizeof(*rows));
	rows->table = table;
	rows->rules = rules;
	rows->rules_left = ROWS_MAX_NEW_RULES;
	rows->last_rule = UINT32_MAX;
	vec_reserve(&table->rows, 1);
	rows->next = table->rows.items;
	rows->full = rows->next + table->rows.capacity;
	rows->max_pages = pages < ROWS_MAX_PAGES ? (uint32_t)pages : ROWS_MAX_PAGES;
}

uint16_t rows_intern(struct rows *rows, struct rule_words rule, struct rows_recent *recent)
{
	struct unwind_rule unpacked = rule_unpack(rule);
	uint32_t id = find_rule(rows->rules, &unpacked);

	if (id == INDEX_NONE && rows->rules_left) {
		rows->rules_left--;
		id = add_rule(rows->rules, &unpacked);
	}
	if (id == INDEX_NONE || id == UNWIND_RULE_NONE) {
		rows->table->stats.unsupported++;
		return UNWIND_RULE_NONE;
	}
	recent->rule = rule;
	recent->id = (uint16_t)id;
	return recent->id;
}

static uint32_t row_count(const struct rows *rows)
{
	return (uint32_t)(rows->next - rows->table->rows.items);
}

void rows_grow(struct rows *rows)
{
	struct unwind_table *table = rows->table;
	uint32_t count = row_count(rows);

	vec_reserve(&table->rows, count + 1);
	rows->next = table->rows.items + count;
	rows->full = table->rows.items + table->rows.capacity;
}

/* Begins the pages up to `page`; their first row is the next one added. */
static void open_pages(struct rows *rows, uint64_t page)
{
	struct unwind_table *table = rows->table;

	while (table->index.count <= page)
		vec_push(&table->index, row_count(rows));
}

bool rows_begin_page(struct rows *rows, uint64_t vaddr)
{
	struct unwind_table *table = rows->table;
	uint64_t page;

	if (!table->index.count)
		table->start = vaddr & ~(uint64_t)(UNWIND_PAGE_SIZE - 1);
	page = (vaddr - table->start) >> UNWIND_PAGE_SHIFT;
	if (page >= rows->max_pages || row_count(rows) >= ROWS_MAX) {
		rows->overflowed = true;
		return false;
	}
	open_pages(rows, page);
	/* No row precedes the first page, so it needs one at its start. */
	if (!row_count(rows) && vaddr != table->start) {
		rows_grow(rows);
		*rows->next++ = (struct unwind_row){.rule = UNWIND_RULE_NONE};
	}
	rows->page_end = table->start + (page + 1) * UNWIND_PAGE_SIZE;
	return true;
}

void rows_finish(struct rows *rows, uint64_t end)
{
	struct unwind_table *table = rows->table;
	uint64_t pages;

	if (rows->last_rule == UINT32_MAX)
		return;
	if (end & (UNWIND_PAGE_SIZE - 1))
		rows_add(rows, end, UNWIND_RULE_NONE);
	table->rows.count = table->stats.rows = row_count(rows);
	pages = (end - table->start + UNWIND_PAGE_SIZE - 1) >> UNWIND_PAGE_SHIFT;
	if (pages > rows->max_pages) {
		rows->overflowed = true;
		return;
	}
	open_pages(rows, pages);
	table->page_count = (uint32_t)table->index.count - 1;
}

void unwind_table_release(struct unwind_table *table)
{
	vec_release(&table->index);
	vec_release(&table->rows);
	*table = (struct unwind_table){0};
}

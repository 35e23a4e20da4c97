/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/table_file.h"

#include <limits.h>
#include <sys/uio.h>

#include "lib/base/open_file.h"
#include "lib/code/unwind/unwind_rows.h"

/* Length of a path, and of an error's text. */
#define REFUSAL_MAX (PATH_MAX + 1024)
/* Maximum registers of a machine that rules may name. */
#define REGISTERS_MAX 32

/* Rules, index, rows and refusal follow, in this order. */
struct table_head {
	uint64_t start, entry;
	uint32_t page_count, row_count;
	uint32_t rule_count; /* without those that have fixed numbers */
	uint32_t refusal_size; /* with its end; 0: none */
	uint32_t has_entry;
	struct runtime_layout layout; /* RUNTIME_NONE: no runtime, or a refused one */
};

static size_t index_count(const struct table_head *head)
{
	return head->page_count ? head->page_count + 1ull : 0;
}

/* The sums and products of checked numbers. */
static uint64_t size_of(const struct table_head *head)
{
	return sizeof(*head) + head->rule_count * sizeof(struct unwind_rule) +
	       index_count(head) * sizeof(uint32_t) + head->row_count * sizeof(struct unwind_row) +
	       head->refusal_size;
}

/* Renumbers the rules of a table, in the order in which its rows use them. */
struct renumbering {
	uint16_t *numbers; /* by the old number; 0: not used yet */
	struct unwind_rule *used;
	uint32_t count;
};

static uint16_t new_number(struct renumbering *r, const struct unwind_rules *rules, uint16_t old)
{
	if (old < UNWIND_RULE_FIRST)
		return old;
	if (!r->numbers[old]) {
		r->used[r->count] = rules->rows.items[old];
		r->numbers[old] = (uint16_t)(UNWIND_RULE_FIRST + r->count++);
	}
	return r->numbers[old];
}

static bool write_parts(int fd, uint64_t offset, const struct table_head *head,
			struct unwind_rule *rules, const struct table_result *result,
			struct unwind_row *rows)
{
	const struct iovec parts[] = {
		{(void *)head, sizeof(*head)},
		{rules, head->rule_count * sizeof(*rules)},
		{result->table.index.items, index_count(head) * sizeof(uint32_t)},
		{rows, head->row_count * sizeof(*rows)},
		{result->refusal, head->refusal_size},
	};

	return pwritev(fd, parts, sizeof(parts) / sizeof(*parts), (off_t)offset) ==
	       (ssize_t)size_of(head);
}

bool table_file_write(int fd, uint64_t offset, const struct table_result *result,
		      struct unwind_row *rows, const struct unwind_rules *rules)
{
	const struct unwind_table *table = &result->table;
	_cleanup_free_ uint16_t *numbers = xcalloc(rules->rows.count, sizeof(*numbers));
	_cleanup_free_ struct unwind_rule *used = xcalloc(rules->rows.count, sizeof(*used));
	struct renumbering r = {numbers, used, 0};
	struct table_head head = {
		.start = table->start,
		.entry = table->entry,
		.has_entry = table->has_entry,
		.page_count = table->page_count,
		.row_count = table->page_count ? (uint32_t)table->rows.count : 0,
		.refusal_size = result->refusal ? (uint32_t)strlen(result->refusal) + 1 : 0,
	};

	for (uint32_t i = 0; i < head.row_count; i++)
		rows[i].rule = new_number(&r, rules, rows[i].rule);
	head.rule_count = r.count;
	if (result->layout)
		head.layout = *result->layout;
	return write_parts(fd, offset, &head, used, result, rows);
}

static bool rule_is_valid(const struct unwind_rule *rule)
{
	return rule->cfa_kind > UNWIND_CFA_END && rule->cfa_kind <= UNWIND_CFA_LAST &&
	       rule->cfa_reg < UNWIND_REG_OTHER + REGISTERS_MAX &&
	       UNWIND_RA_KIND(rule->kinds) != UNWIND_UNKNOWN &&
	       UNWIND_AT_REG_BASE(rule->kinds) <= UNWIND_AT_REG_LAST;
}

static bool head_is_valid(const struct table_head *head, uint64_t size, table_sane_fn *is_sane)
{
	uint64_t pages = (uint64_t)head->page_count * UNWIND_PAGE_SIZE;

	return head->row_count <= ROWS_MAX && head->page_count <= ROWS_MAX_PAGES &&
	       head->rule_count <= ROWS_MAX_NEW_RULES && head->refusal_size <= REFUSAL_MAX &&
	       size_of(head) == size && !head->page_count == !head->row_count &&
	       head->start % UNWIND_PAGE_SIZE == 0 && head->start <= UINT64_MAX - pages &&
	       (head->layout.kind == RUNTIME_NONE || (is_sane && is_sane(&head->layout)));
}

/* Checks a page's rows and gives their rules other numbers. */
static bool number_page(struct unwind_row *rows, const struct unwind_row *end,
			const uint16_t *numbers, uint32_t number_count)
{
	int last = -1;

	for (struct unwind_row *row = rows; row < end; row++) {
		if (row->rule >= number_count || row->pc_low >= UNWIND_PAGE_SIZE ||
		    row->pc_low <= last)
			return false;
		last = row->pc_low;
		row->rule = numbers[row->rule];
	}
	return true;
}

/* The same for all of them. */
static bool number_rows(struct unwind_table *table, const uint16_t *numbers, uint32_t number_count)
{
	const uint32_t *index = table->index.items;
	struct unwind_row *rows = table->rows.items;

	if (!table->page_count)
		return true;
	/* No row precedes the first one. */
	if (index[0] || rows[0].pc_low || index[table->page_count] != table->rows.count)
		return false;
	for (uint32_t page = 0; page < table->page_count; page++) {
		if (index[page] > index[page + 1] || index[page + 1] > table->rows.count ||
		    !number_page(rows + index[page], rows + index[page + 1], numbers, number_count))
			return false;
	}
	return index[1];
}

/* Returns the numbers of the rules in the store, to be freed; NULL: one is invalid. */
static uint16_t *numbers_of(const struct unwind_rule *rules, uint32_t count,
			    struct rule_store *store, struct rule_numbers *own)
{
	uint16_t *numbers;

	for (uint32_t i = 0; i < count; i++) {
		if (!rule_is_valid(&rules[i]))
			return NULL;
	}
	numbers = xcalloc(UNWIND_RULE_FIRST + count, sizeof(*numbers));
	for (uint16_t i = 0; i < UNWIND_RULE_FIRST; i++)
		numbers[i] = i;
	for (uint32_t i = 0; i < count; i++)
		numbers[UNWIND_RULE_FIRST + i] = unwind_rules_intern(&own->rules, &rules[i]);
	rule_store_number(store, own);
	for (uint32_t i = 0; i < count; i++)
		numbers[UNWIND_RULE_FIRST + i] = own->numbers.items[numbers[UNWIND_RULE_FIRST + i]];
	return numbers;
}

static bool read_head(int fd, uint64_t offset, table_sane_fn *is_sane, struct table_head *head)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size >= 0 && (uint64_t)st.st_size >= offset &&
	       read_at(fd, head, sizeof(*head), offset) == (ssize_t)sizeof(*head) &&
	       head_is_valid(head, (uint64_t)st.st_size - offset, is_sane);
}

/* Reads the parts after the head. */
static bool read_rest(int fd, uint64_t offset, const struct table_head *head,
		      struct unwind_rule *rules, struct table_result *read)
{
	struct unwind_table *table = &read->table;
	const struct iovec parts[] = {
		{rules, head->rule_count * sizeof(*rules)},
		{table->index.items, table->index.count * sizeof(*table->index.items)},
		{table->rows.items, table->rows.count * sizeof(*table->rows.items)},
		{read->refusal, head->refusal_size},
	};

	return preadv(fd, parts, sizeof(parts) / sizeof(*parts), (off_t)(offset + sizeof(*head))) ==
		       (ssize_t)(size_of(head) - sizeof(*head)) &&
	       (!head->refusal_size || !read->refusal[head->refusal_size - 1]);
}

bool table_file_read(int fd, uint64_t offset, struct rule_store *store, struct rule_numbers *own,
		     table_sane_fn *is_sane, struct table_result *result)
{
	_cleanup_free_ struct unwind_rule *rules = NULL;
	_cleanup_free_ uint16_t *numbers = NULL;
	struct table_result read = {.module_id = result->module_id};
	struct table_head head;

	if (!read_head(fd, offset, is_sane, &head))
		return false;
	read.table.start = head.start;
	read.table.entry = head.entry;
	read.table.has_entry = head.has_entry;
	read.table.page_count = head.page_count;
	read.table.stats.rows = head.row_count;
	rules = xcalloc(head.rule_count + 1, sizeof(*rules));
	vec_reserve(&read.table.index, index_count(&head));
	read.table.index.count = index_count(&head);
	vec_reserve(&read.table.rows, head.row_count);
	read.table.rows.count = head.row_count;
	if (head.refusal_size)
		read.refusal = xmalloc(head.refusal_size);
	if (head.layout.kind != RUNTIME_NONE)
		read.layout = xmemdup(&head.layout, sizeof(head.layout));
	if (read_rest(fd, offset, &head, rules, &read))
		numbers = numbers_of(rules, head.rule_count, store, own);
	if (!numbers || !number_rows(&read.table, numbers, UNWIND_RULE_FIRST + head.rule_count)) {
		table_result_release(&read);
		return false;
	}
	*result = read;
	return true;
}

bool table_file_read_layout(int fd, uint64_t offset, table_sane_fn *is_sane,
			    struct runtime_layout *layout)
{
	struct table_head head;

	if (!read_head(fd, offset, is_sane, &head))
		return false;
	*layout = head.layout;
	return true;
}

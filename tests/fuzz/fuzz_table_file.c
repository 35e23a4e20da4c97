/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what was kept of a file: invalid, or a table and a layout like those just made. The
 * seeds are files of ~/.cache/prof without their label (dd bs=136 skip=1), and of those with a
 * runtime only the head.
 */
#include "lib/code/runtimes/runtime.h"
#include "lib/code/unwind/native/table_cache.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/table_check.h"

/* Written and read again, it is the same. */
static void check_again(struct table_result *result, const struct rule_numbers *own)
{
	int fd = input_open(NULL, 0);
	struct rule_store *store = rule_store_new(NULL);
	struct table_result again = {0};
	struct rule_numbers numbers;

	rule_numbers_init(&numbers);
	require(table_file_write(fd, 1, result, result->table.rows.items, &own->rules));
	require(table_file_read(fd, 1, store, &numbers, runtime_layout_is_sane, &again));
	require(again.table.rows.count == result->table.rows.count);
	require(again.table.start == result->table.start);
	require(!again.layout == !result->layout && !again.refusal == !result->refusal);
	table_result_release(&again);
	rule_numbers_release(&numbers);
	rule_store_free(store);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rule_store *store = rule_store_new(NULL);
	int fd = input_open(data, size);
	struct table_result result = {0};
	struct runtime_layout layout;
	struct rule_numbers own;

	/* A store without other rules: its numbers are those of `own`. */
	rule_numbers_init(&own);
	if (table_file_read(fd, 0, store, &own, runtime_layout_is_sane, &result)) {
		check_table(&result.table, &own.rules, size);
		require(!result.layout || runtime_layout_is_sane(result.layout));
		require(table_file_read_layout(fd, 0, runtime_layout_is_sane, &layout));
		check_again(&result, &own);
	} else {
		require(!result.layout && !result.refusal && !result.table.rows.items);
	}
	table_result_release(&result);
	rule_numbers_release(&own);
	rule_store_free(store);
	close(fd);
	return 0;
}

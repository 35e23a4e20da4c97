/* SPDX-License-Identifier: MIT */
/* Any bytes as an ELF file whose call frame information becomes a table. */
#include <stdbool.h>

#include "lib/code/unwind/unwind_table.h"
#include "tests/fuzz/table_check.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct unwind_rules rules;
	struct unwind_table table;

	unwind_rules_init(&rules);
	if (unwind_table_compile(fd, &rules, NULL, &table, NULL) == 0)
		check_table(&table, &rules, size);
	else if (table.rows.items || table.index.items)
		abort();
	unwind_table_release(&table);
	unwind_rules_release(&rules);
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Any bytes as the table of functions of a Go program. */
#include "lib/code/unwind/go_file.h"
#include "tests/fuzz/input.h"

/* Functions looked at; a forged table may claim millions. */
#define FUNCTIONS_MAX 256

static void read_function(const struct pclntab *table, const struct pclntab_function *function)
{
	const uint32_t values[] = {function->frame, function->line, function->file,
				   function->inlined_calls};
	struct pclntab_function found;

	if (function->end < function->start || !function->name)
		abort();
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		pclntab_value_at(table, values[i], function->end - function->start);
	pclntab_file(table, function->unit, pclntab_value_at(table, function->file, 0));
	if (pclntab_find(table, function->start, &found) &&
	    (function->start < found.start || function->start >= found.end))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pclntab table;
	struct pclntab_function function;
	struct pclntab_call call;

	if (!pclntab_init(&table, data, size))
		return 0;
	for (uint32_t i = 0; i <= table.count && i < FUNCTIONS_MAX; i++) {
		if (pclntab_function(&table, i, &function))
			read_function(&table, &function);
	}
	pclntab_call(&table, data, &call);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "lib/code/binary/binary.h"
#include "symbolize/symbolizer.h"
#include "tests/fuzz/input.h"

/* The seeds' code lies below. */
#define RVAS 1024

static uint64_t rvas[RVAS];

/* False: there are no symbols. */
static bool ask(const struct symbolizer_input *input, struct symbolizer **s, struct answer *answers)
{
	if (symbolizer_elf.open(s, input, NULL) != 0)
		return false;
	memset(answers, 0, RVAS * sizeof(*answers));
	(*s)->ops->lookup(*s, rvas, RVAS, answers);
	for (size_t i = 0; i < RVAS; i++) {
		bool is_before = rvas[i] + 1 == answers[i].func_start;

		if (answers[i].func &&
		    (!strlen(answers[i].func) ||
		     (!is_before && rvas[i] - answers[i].func_start >= answers[i].func_size) ||
		     answers[i].func_size > BINARY_SYMBOL_MAX))
			abort();
	}
	return true;
}

static bool are_equal(const struct answer *x, const struct answer *y)
{
	return !x->func == !y->func && (!x->func || strcmp(x->func, y->func) == 0) &&
	       x->func_start == y->func_start && x->func_size == y->func_size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct answer all[RVAS], near[RVAS];
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	struct symbolizer_input input = {.module = &module, .fd = input_open(data, size)};
	struct symbolizer *all_symbols, *near_symbols;
	bool has_all, has_near;

	for (size_t i = 0; i < RVAS; i++)
		rvas[i] = i;
	rvas[RVAS - 1] = UINT64_MAX;
	has_all = ask(&input, &all_symbols, all);
	/* The answers do not depend on what was expected: here, a part of the addresses. */
	input.rvas = rvas + size % RVAS;
	input.rva_count = (RVAS - size % RVAS) / 2;
	has_near = ask(&input, &near_symbols, near);
	if (has_all != has_near)
		abort();
	for (size_t i = 0; i < RVAS && has_all; i++) {
		if (!are_equal(&all[i], &near[i]))
			abort();
	}
	if (has_all) {
		all_symbols->ops->free(all_symbols);
		near_symbols->ops->free(near_symbols);
	}
	close(input.fd);
	return 0;
}

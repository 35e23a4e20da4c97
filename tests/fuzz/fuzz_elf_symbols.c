/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/binary/binary.h"
#include "symbolize/symbolizer.h"
#include "tests/fuzz/input.h"

/* The seeds' code lies below. */
#define RVAS 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {.module = &module, .fd = input_open(data, size)};
	struct symbolizer *s;

	if (symbolizer_elf.open(&s, &input, NULL) == 0) {
		static struct answer answers[RVAS];
		static uint64_t rvas[RVAS];

		memset(answers, 0, sizeof(answers));
		for (size_t i = 0; i < RVAS; i++)
			rvas[i] = i;
		rvas[RVAS - 1] = UINT64_MAX;
		s->ops->lookup(s, rvas, RVAS, answers);
		for (size_t i = 0; i < RVAS; i++) {
			if (answers[i].func &&
			    (!strlen(answers[i].func) ||
			     rvas[i] - answers[i].func_start >= answers[i].func_size ||
			     answers[i].func_size > BINARY_SYMBOL_MAX))
				abort();
		}
		s->ops->free(s);
	}
	close(input.fd);
	return 0;
}

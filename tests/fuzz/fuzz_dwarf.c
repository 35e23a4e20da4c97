/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "symbolize/symbolizer.h"
#include "tests/fuzz/input.h"

/* The seeds' code lies there. */
#define RVAS 1024

/* Its size; what has no name has none at all. */
static size_t touch_name(const char *name)
{
	if (name && !name[0])
		abort();
	return name ? strlen(name) : 0;
}

/* Reads whatever an answer refers to. */
static size_t touch(const struct answer *answer)
{
	size_t sum = touch_name(answer->func);

	for (size_t i = 0; i < answer->depth; i++) {
		sum += touch_name(answer->chain[i].func);
		sum += answer->chain[i].file ? strlen(answer->chain[i].file) : 0;
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {.module = &module, .fd = input_open(data, size)};
	static volatile size_t sum;
	struct symbolizer *s;

	if (symbolizer_dwarf.open(&s, &input, NULL) == 0) {
		static struct answer answers[RVAS];
		static uint64_t rvas[RVAS];

		memset(answers, 0, sizeof(answers));
		for (size_t i = 0; i < RVAS; i++)
			rvas[i] = i;
		rvas[RVAS - 1] = UINT64_MAX;
		s->ops->lookup(s, rvas, RVAS, answers);
		for (size_t i = 0; i < RVAS; i++)
			sum += touch(&answers[i]);
		s->ops->free(s);
	}
	close(input.fd);
	return 0;
}

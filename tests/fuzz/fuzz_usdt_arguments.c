/* SPDX-License-Identifier: MIT */
/* Arguments of a probe that a program declares; behind an "A", of a program for arm64. */
#include <elf.h>
#include <string.h>

#include "lib/stream/text/usdt_arguments.h"
#include "tests/fuzz/input.h"

#define REGISTERS_SIZE 272 /* of arm64's struct; x86-64's is smaller */

static void check_register(uint16_t at)
{
	if (at != USDT_NO_REGISTER && (at % 8 || at > REGISTERS_SIZE - 8))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct usdt_layout layout;

	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (*text == 'A')
		usdt_arguments_parse(&layout, EM_AARCH64, text + 1);
	else
		usdt_arguments_parse(&layout, EM_X86_64, text);
	if (layout.count > USDT_ARGUMENTS_MAX)
		abort();
	for (uint32_t i = 0; i < layout.count; i++) {
		const struct usdt_argument *a = &layout.arguments[i];

		check_register(a->base);
		check_register(a->index);
		if (a->kind != USDT_UNREADABLE && a->size != 1 && a->size != 2 && a->size != 4 &&
		    a->size != 8)
			abort();
	}
	free(text);
	return 0;
}

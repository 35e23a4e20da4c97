/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "symbolize/demangle.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf readable = {0};
	char *name = malloc(size + 1);

	memcpy(name, data, size);
	name[size] = '\0';
	if (demangle(name, &readable) && (!readable.size || readable.size > 8192))
		abort();
	strbuf_release(&readable);
	free(name);
	return 0;
}

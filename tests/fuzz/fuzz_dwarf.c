/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/input.h"
#include "tests/fuzz/name_all.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	const struct symbolizer_input input = {.module = &module, .fd = input_open(data, size)};

	name_all(&symbolizer_dwarf, &input);
	close(input.fd);
	return 0;
}

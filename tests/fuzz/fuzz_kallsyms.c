/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "symbolize/kernel/kernel_table.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct kernel_symbol symbol;
	struct kernel_table *k;

	if (kallsyms_read(&k, fd, NULL) == 0) {
		for (unsigned int bit = 0; bit < 64; bit++) {
			uint64_t addr = UINT64_MAX << bit;

			if (kernel_table_find(k, addr, &symbol) &&
			    (symbol.start > addr || !strlen(symbol.name)))
				abort();
		}
		kernel_table_free(k);
	}
	close(fd);
	return 0;
}

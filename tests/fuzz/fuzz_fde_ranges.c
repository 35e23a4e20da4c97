/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/eh_frame.h"
#include "tests/fuzz/input.h"

/* The seeds' code lies below. */
#define RVAS 0x3000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct fde_ranges *r;
	struct fde_range range;

	if (fde_ranges_new(&r, fd, NULL) == 0) {
		for (uint64_t rva = 0; rva < RVAS; rva += 16) {
			if (fde_ranges_find(r, rva, &range) && rva - range.rva >= range.size)
				abort();
		}
		fde_ranges_find(r, UINT64_MAX, &range);
		fde_ranges_free(r);
	}
	close(fd);
	return 0;
}

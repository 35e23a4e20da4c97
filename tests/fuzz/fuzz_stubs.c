/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/code/binary/binary.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct binary_stubs stubs = {0};
	uint64_t end = 0;
	struct binary *b;

	if (binary_open(&b, fd, NULL) == 0) {
		binary_find_stubs(b, &stubs);
		/* Ascending, not overlapping, with terminated names, and each leads somewhere. */
		vec_for_each(&stubs.rows, struct binary_stub *, stub) {
			if (stub->vaddr < end || !stub->size ||
			    stub->size > UINT64_MAX - stub->vaddr)
				abort();
			end = stub->vaddr + stub->size;
			if (binary_name_stub(b, stub) &&
			    (stub->name ? !strlen(stub->name) : !stub->target))
				abort();
		}
		vec_release(&stubs.rows);
		binary_free(b);
	}
	close(fd);
	return 0;
}

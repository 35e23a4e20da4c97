/* SPDX-License-Identifier: MIT */
/* Any bytes as a file that may contain a runtime. */
#include "lib/code/runtimes/runtime.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct runtime_layout layout;
	struct error err = {0};
	int result = runtime_probe_with_go(fd, &layout, &err);

	/* The kernel's programs trust its sizes. */
	if (layout.kind && !runtime_layout_is_sane(&layout))
		abort();
	if ((result != 0 && (layout.kind || !err.text[0])) || result > 0)
		abort();
	close(fd);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Any bytes as a file that may contain a runtime. */
#include "lib/code/runtimes/python.h"
#include "lib/code/runtimes/v8.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct runtime_layout layout;
	struct error err = {0};
	int result = runtime_probe_with_go(fd, &layout, &err);

	/* The kernel's program trusts these sizes. */
	if (layout.kind == RUNTIME_PYTHON && !python_layout_is_sane(&layout.python))
		abort();
	if (layout.kind == RUNTIME_V8 && !v8_layout_is_sane(&layout.v8))
		abort();
	if ((result != 0 && (layout.kind || !err.text[0])) || result > 0)
		abort();
	close(fd);
	return 0;
}

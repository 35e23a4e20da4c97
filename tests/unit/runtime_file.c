/* SPDX-License-Identifier: MIT */
#include "tests/unit/runtime_file.h"

#include <fcntl.h>

#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

int runtime_probed(const char *name, struct runtime_layout *layout, struct error *err)
{
	_cleanup_free_ char *path = xasprintf("tests/fuzz/corpus/runtime_file/%s", name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("no %s", path);
	return runtime_probe(fd, layout, err);
}

void runtime_refused(const char *name, int code, const char *reason)
{
	struct runtime_layout layout;
	struct error err = {0};

	assert_int_equal(runtime_probed(name, &layout, &err), code);
	assert_int_equal(layout.kind, RUNTIME_NONE);
	assert_string_equal(err.text, reason);
}

/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/live/bpf/kernel_types.h"
#include "tests/fuzz/input.h"

static int pick(struct strbuf *out, const void *data, size_t size)
{
	struct attach_point points[] = {{.name = "use"}, {.name = "u32", .is_type = true}};
	struct type_names names = {0};
	int ret;

	type_names_add(&names, "task_struct");
	type_names_add(&names, "pid");
	type_names_add(&names, "atomic_t");
	type_names_add(&names, "pid_type");
	type_names_add(&names, "a");
	ret = kernel_types_pick(out, data, size, &names, points, 2, NULL);
	type_names_release(&names);
	return ret;
}

/* The result is a BTF, and picking the same names from it yields all of it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf first = {0}, second = {0};

	if (pick(&first, data, size) == 0) {
		/* At most as many types and strings as in the input; the two may overlap. */
		if (first.size > 2 * size)
			abort();
		if (pick(&second, first.text, first.size) || first.size != second.size ||
		    memcmp(first.text, second.text, first.size) != 0)
			abort();
	}
	strbuf_release(&first);
	strbuf_release(&second);
	return 0;
}

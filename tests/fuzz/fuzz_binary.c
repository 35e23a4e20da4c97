/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/code/binary/objects.h"
#include "tests/fuzz/input.h"

static void summarize(int fd)
{
	struct binary_summary summary;

	if (binary_summarize(fd, &summary, NULL) == 0)
		binary_summary_release(&summary);
}

static void find_objects(const struct binary *b)
{
	struct binary_object objects[] = {{.name = "f"}, {.name = "main"}, {.name = "_PyRuntime"}};
	struct binary_object mark = {.name = "_PyRuntime"};

	binary_find_exported(b, objects, 3);
	binary_find_objects(b, objects, 3);
	binary_find_mark(b, &mark);
	if (mark.is_there && !objects[2].is_there)
		abort();
}

static void open_whole(int fd)
{
	struct binary_symbols symbols = {0};
	struct binary_needed needed;
	uint8_t build_id[BUILD_ID_MAX];
	struct binary *b;

	if (binary_open(&b, fd, NULL) != 0)
		return;
	if (binary_build_id(b, build_id) > BUILD_ID_MAX)
		abort();
	binary_has_section(b, ".debug_info");
	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, it) {
		if (it->vaddr >= it->limit || !it->name[0])
			abort();
	}
	vec_release(&symbols.rows);
	find_objects(b);
	binary_find_needed(b, &needed);
	for (size_t i = 0; i < needed.count; i++) {
		if (!strlen(needed.names[i]))
			abort();
	}
	binary_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);

	summarize(fd);
	open_whole(fd);
	close(fd);
	return 0;
}

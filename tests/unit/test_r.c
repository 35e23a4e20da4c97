/* SPDX-License-Identifier: MIT */
/* R: files that contain its interpreter, and functions as the kernel saw them. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/code/runtimes/runtime.h"
#include "tests/unit/r_function.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/test.h"

TEST(files_tell_their_version_and_what_evaluates)
{
	static const struct {
		const char *file, *version;
		size_t evaluators;
	} rows[] = {
		/* The function that calls closures, eval(), the loop, the one that forces. */
		{"r-4.2", "4.2", 4},
		/* One more leads to the loop. */
		{"r-4.6", "4.6", 5},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_layout layout;
		const struct r_layout *l = &layout.r;
		size_t evaluators = 0, loops = 0;
		char version[8];

		assert_int_equal(runtime_probed(rows[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_R);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, rows[i].version);
		assert_true(runtime_layout_is_sane(&layout));
		assert_true(l->context && l->source);
		for (size_t j = 0; j < R_OPERATORS; j++)
			assert_true(l->operators[j]);
		for (size_t j = 0; j < R_EVALUATORS && l->eval_start[j]; j++, evaluators++) {
			assert_in_range(l->eval_end[j] - l->eval_start[j], 1, 1024);
			loops += l->eval_end[j] - l->eval_start[j] > 512;
		}
		assert_int_equal(evaluators, rows[i].evaluators);
		assert_int_equal(loops, 1);
		/* The kernel's program must stay within what it reads. */
		assert_in_range(l->context_loop, 8, (R_CONTEXT_WORDS - 1) * 8);
	}
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("r-3.4", -ENOTSUP, "R 3.4 is not supported");
	runtime_refused("r-lacking-4.2", -ENOTSUP, "cannot find the interpreter of R 4.2");
}

static void check_code(const char *name, const char *function, const char *file,
		       uint32_t first_line)
{
	static const struct runtime_layout layout = {.kind = RUNTIME_R};
	struct managed_code code = {0};
	struct rec_function *record;
	uint8_t bytes[256];
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/r/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	record = size > 0 ? r_function_of(bytes, (size_t)size) : NULL;
	assert_non_null(record);
	runtime_r.decode(&layout, record, &code);
	assert_string_equal(strbuf_text(&code.name), function);
	assert_string_equal(strbuf_text(&code.file), file);
	assert_int_equal(code.first_line, first_line);
	assert_int_equal(code.lines.count, 0);
	managed_code_release(&code);
	free(record);
}

TEST(functions_have_the_names_of_their_calls)
{
	check_code("symbol", "work", "/a.R", 12);
	check_code("anonymous", "<Anonymous>", "", 0);
	check_code("colons", "base::vapply", "", 0);
	check_code("three_colons", "compiler:::tryCmpfun", "", 0);
	check_code("dollar", "list$member", "", 0);
	check_code("brackets", "list[[name]]", "", 0);
	check_code("text", "list[[\"a b\"]]", "", 0);
	check_code("integer", "list[[-2]]", "", 0);
	check_code("real", "value[[3]]", "", 0);
	/* Texts that are no UTF-8, lines that no file has, sizes that do not fit. */
	check_code("latin", "t\xef\xbf\xbd", "\xef\xbf\xbd", 0);
	check_code("long", "", "", 0);
	check_code("unknown", "<Anonymous>", "", 0);
}

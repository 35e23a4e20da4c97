/* SPDX-License-Identifier: MIT */
/* Perl: files that contain its interpreter, and functions as the kernel saw them. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/code/runtimes/runtime.h"
#include "tests/unit/perl_function.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/test.h"

TEST(files_tell_their_version_and_places)
{
	static const struct {
		const char *file, *version;
		bool has_threads;
		uint16_t context_size, hash_extra;
	} rows[] = {
		{"perl-5.30", "5.30", true, 96, 0},
		{"perl-5.36", "5.36", true, 104, 32},
		{"perl-5.40", "5.40", false, 104, 32},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_layout layout;
		const struct perl_layout *l = &layout.perl;
		char version[8];

		assert_int_equal(runtime_probed(rows[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_PERL);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, rows[i].version);
		assert_int_equal(l->context_size, rows[i].context_size);
		assert_int_equal(l->hash_extra, rows[i].hash_extra);
		assert_int_equal(l->key != 0, rows[i].has_threads);
		/* Offsets in an interpreter, or addresses of variables. */
		assert_int_equal(l->stack < 1024 && l->statement < 1024, rows[i].has_threads);
		assert_true(l->interpreter);
		for (size_t j = 0; j < 2; j++)
			assert_in_range(l->run_end[j] - l->run_start[j], 1, 32);
		assert_in_range(l->main_end - l->main_start, 1, 64);
		/* The kernel's program must stay within what it reads. */
		assert_in_range(l->context_code, 8, (PERL_CONTEXT_WORDS - 1) * 8);
		assert_in_range(l->stack_type, 8, PERL_STACK_WORDS * 8 - 4);
	}
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("perl-5.8", -ENOTSUP, "Perl 5.8 is not supported");
	runtime_refused("perl-5.43", -ENOTSUP, "Perl 5.43 is not supported");
	runtime_refused("perl-lacking-5.36", -ENOTSUP, "cannot find the interpreter of Perl 5.36");
}

static void check_code(const char *name, const char *function, const char *file, uint32_t line,
		       uint32_t first_line)
{
	static const struct runtime_layout layout = {.kind = RUNTIME_PERL};
	struct managed_code code = {0};
	struct rec_function *record;
	uint8_t bytes[256];
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/perl/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	record = size > 0 ? perl_function_of(bytes, (size_t)size) : NULL;
	assert_non_null(record);
	runtime_perl.decode(&layout, record, &code);
	assert_string_equal(strbuf_text(&code.name), function);
	assert_string_equal(strbuf_text(&code.file), file);
	assert_int_equal(code.first_line, first_line);
	assert_int_equal(code.lines.count, line != 0);
	if (line)
		assert_int_equal(code.lines.items[0].line, line);
	managed_code_release(&code);
	free(record);
}

TEST(functions_have_names_and_lines)
{
	check_code("sub", "Tree::spin", "/a.pl", 12, 10);
	check_code("main", "(main)", "-e", 3, 0);
	check_code("file", "(require)", "/b.pm", 0, 0);
	/* Texts that are no UTF-8, lines that no file has. */
	check_code("latin", "caf\xef\xbf\xbd::\xef\xbf\xbdt\xef\xbf\xbd", "\xef\xbf\xbd", 0, 0);
}

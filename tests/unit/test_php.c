/* SPDX-License-Identifier: MIT */
/* PHP: files that contain its engine, functions as the kernel saw them, with their memory. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/code/runtimes/php.h"
#include "tests/unit/function_case.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/test.h"

TEST(files_tell_their_version_and_places)
{
	static const struct {
		const char *file, *version;
		uint16_t code_count, code, file_name;
	} rows[] = {
		{"php-7.4", "7.4", 60, 64, 136},
		{"php-8.2", "8.2", 80, 88, 152},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_layout layout;
		const struct php_layout *l = &layout.php;
		char version[8];

		assert_int_equal(runtime_probed(rows[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_PHP);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, rows[i].version);
		assert_int_equal(l->code_count, rows[i].code_count);
		assert_int_equal(l->code, rows[i].code);
		assert_int_equal(l->file, rows[i].file_name);
		/* As in seeds/php.c: 488 from the start of the variables, which are aligned. */
		assert_int_equal(l->frame % 32, 488 % 32);
		assert_int_equal(l->exec_end[0] - l->exec_start[0], 554);
		/* Five words with the return address, and what the prologue reserves. */
		assert_int_equal(l->dispatch - l->exec_start[0], 38);
		assert_int_equal(l->exec_size, 160);
		/* The part aside, not the other function that one jump leads to. */
		assert_int_equal(l->exec_end[1] - l->exec_start[1], 64);
	}
}

TEST(kernel_reads_no_more_than_a_function)
{
	for (unsigned int i = 4; i < 11; i++) {
		uint16_t version = i < 5 ? RUNTIME_VERSION(7, i) : RUNTIME_VERSION(8, i - 5);
		struct php_layout l;

		assert_true(php_layout_of_version(version, &l));
		assert_int_equal(l.code % 8, 0);
		assert_int_equal(l.code_count % 4, 0);
		assert_in_range(l.code_count, l.code - 8, l.code - 4);
		assert_int_equal(l.file % 8, 0);
		assert_in_range(l.file, l.code + 8, (PHP_FUNCTION_WORDS - 2) * 8);
	}
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("php-9.9", -ENOTSUP, "PHP 9.9 is not supported");
	runtime_refused("php-threads-8.2", -ENOTSUP,
			"thread-safe builds of PHP 8.2 are not supported");
	runtime_refused("php-other-8.2", -EINVAL, "PHP 8.2 has functions of an unknown form");
}

static uint8_t bytes[65536];
static struct function_image image;

/* Decodes the function of that file. */
static struct rec_function *decoded(const char *name, struct managed_code *code)
{
	struct runtime_layout layout = {.kind = RUNTIME_PHP};
	struct rec_function *function;
	char path[64];
	ssize_t size;
	int fd;

	assert_true(php_layout_of_version(RUNTIME_VERSION(8, 2), &layout.php));
	snprintf(path, sizeof(path), "tests/fuzz/corpus/php/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	function = size > 0 ? function_of_case(bytes, (size_t)size, &image) : NULL;
	assert_non_null(function);
	runtime_php.decode(&layout, function, code);
	return function;
}

static bool read_late(const struct rec_function *function, struct managed_code *code)
{
	struct runtime_layout layout = {.kind = RUNTIME_PHP};

	assert_true(php_layout_of_version(RUNTIME_VERSION(8, 2), &layout.php));
	return runtime_php.late(&layout, function, function_image_read, &image, code);
}

/* Changes a word in the memory. */
static void put(uint64_t addr, uint64_t word)
{
	memcpy(bytes + (image.data - bytes) + addr, &word, sizeof(word));
}

static void check_lines(const struct managed_code *code)
{
	static const struct managed_line lines[] = {{0, 3, 0}, {2, 4, 0}, {4, 6, 0}};

	assert_int_equal(code->lines.count, 3);
	assert_memory_equal(code->lines.items, lines, sizeof(lines));
}

TEST(method_has_its_class_and_lines)
{
	struct managed_code code = {0};
	struct rec_function *function = decoded("method", &code);

	assert_string_equal(strbuf_text(&code.name), "Foo::work");
	assert_string_equal(strbuf_text(&code.file), "/a.php");
	assert_string_equal(code.tier, "PHP");
	assert_int_equal(code.first_line, 3);
	assert_false(code.lacks_text);
	check_lines(&code);
	managed_code_release(&code);
	free(function);
}

TEST(names_are_those_of_the_source)
{
	static const struct {
		const char *file, *name, *tier;
	} rows[] = {
		{"closure", "{closure}", "PHP"}, {"placed_closure", "Foo::{closure}", "PHP"},
		{"main", "{main}", "PHP"},	 {"included", "{include}", "PHP"},
		{"evaluated", "{eval}", "PHP"},	 {"internal", "work", "C function"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct managed_code code = {0};
		struct rec_function *function = decoded(rows[i].file, &code);

		assert_string_equal(strbuf_text(&code.name), rows[i].name);
		assert_string_equal(code.tier, rows[i].tier);
		assert_false(code.lacks_text);
		managed_code_release(&code);
		free(function);
	}
}

TEST(long_code_has_its_lines_from_the_process)
{
	struct managed_code code = {0};
	struct rec_function *function = decoded("long", &code);

	assert_true(code.lacks_text);
	assert_int_equal(code.lines.count, 1);
	assert_true(read_late(function, &code));
	check_lines(&code);
	managed_code_release(&code);
	free(function);
}

TEST(unreadable_names_are_read_from_the_process)
{
	struct managed_code code = {0};
	struct rec_function *function = decoded("unread", &code);

	assert_true(code.lacks_text);
	assert_int_equal(code.name.size, 0);
	assert_true(read_late(function, &code));
	assert_string_equal(strbuf_text(&code.name), "Foo::work");
	assert_string_equal(strbuf_text(&code.file), "/a.php");
	check_lines(&code);
	managed_code_release(&code);
	free(function);
}

TEST(code_that_was_replaced_is_not_read)
{
	struct managed_code code = {0};
	struct rec_function *function = decoded("long", &code);

	put(0x200 + 88, 0x600);
	assert_false(read_late(function, &code));
	assert_string_equal(strbuf_text(&code.name), "Foo::work");
	assert_int_equal(code.lines.count, 1);
	managed_code_release(&code);
	free(function);
}

TEST(objects_that_are_no_strings_are_no_names)
{
	struct managed_code code = {0};
	struct rec_function *function = decoded("unread", &code);

	put(0x100, 7ull << 32);
	put(0x190, UINT64_MAX);
	assert_true(read_late(function, &code));
	assert_int_equal(code.name.size, 0);
	assert_int_equal(code.file.size, 0);
	managed_code_release(&code);
	free(function);
}

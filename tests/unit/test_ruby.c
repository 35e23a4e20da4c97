/* SPDX-License-Identifier: MIT */
/* Ruby: files that contain its interpreter, functions as the kernel saw them, with their memory. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/code/runtimes/ruby.h"
#include "tests/unit/function_case.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/test.h"

/* The kernel's program must stay within what it reads. */
static void check_reads(const struct ruby_layout *l)
{
	const uint16_t words[] = {l->body_path, l->body_label, l->body_first_line};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(words[i] % 8, 0);
		assert_in_range(words[i], 8, (RUBY_BODY_WORDS - 1) * 8);
	}
	assert_in_range(l->frame_size, RUBY_FRAME_WORDS * 8, 128);
	assert_in_range(l->line_size, 8, 16);
}

TEST(files_tell_their_version_and_places)
{
	static const struct {
		const char *file, *version;
		uint16_t frame_size, exec_size;
		bool has_context;
		uint16_t hidden_at;
	} rows[] = {
		{"ruby-2.7", "2.7", 56, 26, true, 0},
		{"ruby-3.1", "3.1", 64, 26, false, 0},
		/* Without a symbol of the interpreter, and with the C library's tags. */
		{"ruby-3.3", "3.3", 56, 39, false, 48},
		/* The context goes through memory. */
		{"ruby-4.0", "4.0", 56, 39, false, 48},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_layout layout;
		const struct ruby_layout *l = &layout.ruby;
		char version[8];

		assert_int_equal(runtime_probed(rows[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_RUBY);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, rows[i].version);
		check_reads(l);
		assert_int_equal(l->frame_size, rows[i].frame_size);
		assert_int_equal(l->context != 0, rows[i].has_context);
		assert_int_equal(l->context_index != 0, !rows[i].has_context);
		assert_true(l->symbols);
		/* As in seeds/ruby.c; the loop lies just before. */
		assert_int_equal(l->exec_end - l->exec_start, rows[i].exec_size);
		assert_int_equal(l->hidden_at, rows[i].hidden_at);
		assert_int_equal(l->hidden_label, rows[i].hidden_at ? 33 : 0);
		assert_int_equal(l->tag_outer, rows[i].hidden_at ? 216 : 56);
		assert_int_equal(l->loop_end - l->loop_start, 513);
		assert_int_equal(l->loop_end, l->exec_start);
	}
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("ruby-3.5", -ENOTSUP, "Ruby 3.5 is not supported");
	runtime_refused("ruby-contextless-3.1", -ENOTSUP,
			"cannot find the thread contexts of Ruby 3.1");
}

static uint8_t bytes[65536];
static struct function_image image;
static const struct runtime_layout *layout_3_1(void)
{
	static struct runtime_layout layout = {.kind = RUNTIME_RUBY};

	assert_true(ruby_layout_of_version(RUNTIME_VERSION(3, 1), &layout.ruby));
	return &layout;
}

/* Returns the function of that file, to be freed. */
static struct rec_function *recorded(const char *name)
{
	char path[64];
	struct rec_function *function;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/ruby/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	function = size > 0 ? function_of_case(bytes, (size_t)size, &image) : NULL;
	assert_non_null(function);
	return function;
}

/* Changes a word in the memory. */
static void put(uint64_t addr, uint64_t word)
{
	memcpy(bytes + (image.data - bytes) + addr, &word, sizeof(word));
}

static bool decode(const struct rec_function *function, struct managed_code *code)
{
	runtime_ruby.decode(layout_3_1(), function, code);
	return runtime_ruby.late(layout_3_1(), function, function_image_read, &image, code);
}

TEST(code_has_its_class_and_lines)
{
	struct rec_function *function = recorded("code");
	struct managed_code code = {0};

	assert_true(decode(function, &code));
	assert_string_equal(strbuf_text(&code.name), "Foo#each");
	assert_string_equal(strbuf_text(&code.file), "/a.rb");
	assert_string_equal(code.tier, "Ruby");
	assert_int_equal(code.first_line, 5);
	assert_int_equal(code.lines.count, 2);
	assert_int_equal(code.lines.items[0].unit, 0);
	assert_int_equal(code.lines.items[0].line, 5);
	assert_int_equal(code.lines.items[1].unit, 9);
	assert_int_equal(code.lines.items[1].line, 6);
	managed_code_release(&code);
	free(function);
}

/* RubyGems' own functions name their file in another form than others; built-in ones have none. */
TEST(files_of_internal_functions_are_files)
{
	static const struct {
		const char *path, *shown;
	} rows[] = {
		{"<internal:/usr/lib/ruby/kernel_require.rb>", "/usr/lib/ruby/kernel_require.rb"},
		{"<internal:/usr/lib/ruby/cut", "/usr/lib/ruby/cut"},
		{"<internal:kernel>", "<internal:kernel>"},
		{"<internal:", "<internal:"},
		{"/srv/app.rb", "/srv/app.rb"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct {
			struct rec_function rec;
			char body[64];
		} function = {.rec.file.size = (uint32_t)strlen(rows[i].path)};
		struct managed_code code = {0};

		memcpy(function.rec.body, rows[i].path, strlen(rows[i].path));
		runtime_ruby.decode(layout_3_1(), &function.rec, &code);
		assert_string_equal(strbuf_text(&code.file), rows[i].shown);
		managed_code_release(&code);
	}
}

TEST(block_keeps_its_words_and_a_missing_file_is_read)
{
	struct rec_function *function = recorded("block");
	struct managed_code code = {0};

	assert_true(decode(function, &code));
	assert_string_equal(strbuf_text(&code.name), "block in Foo#each");
	assert_string_equal(strbuf_text(&code.file), "each");
	managed_code_release(&code);
	free(function);
}

TEST(method_in_c_has_its_name_from_the_symbols)
{
	struct rec_function *function = recorded("method");
	struct managed_code code = {0};

	assert_true(decode(function, &code));
	assert_string_equal(strbuf_text(&code.name), "Foo#each");
	assert_string_equal(code.tier, "C method");
	managed_code_release(&code);
	free(function);
}

TEST(method_of_an_object_has_a_dot)
{
	struct rec_function *function = recorded("method");
	struct managed_code code = {0};

	/* Its class is one of a single object, the class Foo: the variable is __attached__. */
	put(0x600, 2 | 1 << 12);
	put(0x618, 0x640);
	put(0x648, 0x680);
	put(0x680 + 40, 1);
	put(0x680 + 48, 0x6c0);
	put(0x6c8, 206 << 4);
	put(0x6d0, 0x100);
	put(0x800 + 16 * 206, 0x700);
	put(0x700, 5 | 12 << 14);
	memcpy(bytes + (image.data - bytes) + 0x710, "__attached__", 12);
	put(0x3a0, 0x600);
	assert_true(decode(function, &code));
	assert_string_equal(strbuf_text(&code.name), "Foo.each");
	managed_code_release(&code);
	free(function);
}

TEST(code_that_was_replaced_is_not_read)
{
	struct rec_function *function = recorded("code");
	struct managed_code code = {0};

	put(0x408, 0x7000);
	assert_false(decode(function, &code));
	assert_string_equal(strbuf_text(&code.name), "each");
	assert_int_equal(code.lines.count, 0);
	managed_code_release(&code);
	free(function);
}

TEST(lying_sizes_and_circles_end)
{
	struct rec_function *function = recorded("code");
	struct managed_code code = {0};

	/* The rows are too many, the class is its own object, its variables are endless. */
	put(0x400 + 136, UINT32_MAX);
	put(0x100, 2 | 1 << 12);
	put(0x180 + 40, UINT64_MAX);
	assert_true(decode(function, &code));
	assert_string_equal(strbuf_text(&code.name), "each");
	assert_int_equal(code.lines.count, 0);
	managed_code_release(&code);
	free(function);
}

TEST(text_becomes_utf8)
{
	struct strbuf text = {0};

	managed_text_add(&text, "n\xc3\xa9\xff!\0x", 7);
	assert_string_equal(strbuf_text(&text), "n\xc3\xa9\xef\xbf\xbd!");
	strbuf_release(&text);
}

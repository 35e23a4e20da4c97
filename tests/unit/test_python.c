/* SPDX-License-Identifier: MIT */
/* CPython: files that contain it, and functions as the kernel saw them or as they lie in memory. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/python.h"
#include "tests/python_identity.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/test.h"

/* Some offsets of each version, as gdb prints them for builds with debug information. */
static const struct {
	const char *file, *version;
	enum python_place place;
	uint16_t thread_id, frame_instruction, frame_owner, code_lines, code_bytes, string_ascii;
} supported[] = {
	{"library-2.7", "2.7", PYTHON_PLACE_COUNT, 144, 120, 0, 104, 32, 36},
	{"library-3.6", "3.6", PYTHON_PLACE_COUNT, 152, 120, 0, 112, 40, 48},
	{"library-3.7", "3.7", PYTHON_PLACE_COUNT, 176, 104, 0, 112, 40, 48},
	{"library-3.8", "3.8", PYTHON_PLACE_COUNT, 176, 104, 0, 120, 48, 48},
	{"library-3.9", "3.9", PYTHON_PLACE_COUNT, 176, 104, 0, 120, 48, 48},
	{"library-3.10", "3.10", PYTHON_PLACE_CFRAME, 176, 96, 0, 120, 48, 48},
	{"library-3.11", "3.11", PYTHON_PLACE_CFRAME, 152, 56, 69, 136, 184, 48},
	{"library-3.12", "3.12", PYTHON_PLACE_ENTRY, 136, 56, 70, 136, 192, 40},
	{"library-3.13", "3.13", PYTHON_PLACE_ENTRY, 152, 56, 70, 136, 200, 40},
	{"library-3.14", "3.14", PYTHON_PLACE_ENTRY, 152, 56, 74, 136, 208, 40},
	{"library-3.15", "3.15", PYTHON_PLACE_ENTRY, 176, 56, 74, 136, 208, 40},
	{"program-3.6", "3.6", PYTHON_PLACE_COUNT, 152, 120, 0, 112, 40, 48},
	{"program-3.9", "3.9", PYTHON_PLACE_COUNT, 176, 104, 0, 120, 48, 48},
	{"program-3.11", "3.11", PYTHON_PLACE_CFRAME, 152, 56, 69, 136, 184, 48},
	{"program-3.14", "3.14", PYTHON_PLACE_ENTRY, 152, 56, 74, 136, 208, 40},
	{"stripped-3.13", "3.13", PYTHON_PLACE_ENTRY, 152, 56, 70, 136, 200, 40},
};

TEST(files_tell_their_layout)
{
	for (size_t i = 0; i < sizeof(supported) / sizeof(supported[0]); i++) {
		struct runtime_layout layout;
		const struct python_layout *l = &layout.python;
		char version[8];

		assert_int_equal(runtime_probed(supported[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_PYTHON);
		/* Versions whose JIT makes code that keeps no registers. */
		assert_int_equal(layout.shim_words != 0,
				 l->version == 0x30d || l->version == 0x30e);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, supported[i].version);
		assert_true(python_layout_is_sane(l));
		assert_int_not_equal(l->runtime, 0);
		/* Only the stripped one does not tell the type of code. */
		assert_int_equal(!l->code_type, text_starts_with(supported[i].file, "stripped"));
		assert_int_equal(l->place, supported[i].place);
		assert_int_equal(l->thread_id, supported[i].thread_id);
		assert_int_equal(l->frame_instruction, supported[i].frame_instruction);
		assert_int_equal(l->frame_owner, supported[i].frame_owner);
		assert_int_equal(l->frame_object, l->version < 0x30b	? 0
						  : l->version == 0x30b ? 40
									: 48);
		assert_int_equal(l->code_lines, supported[i].code_lines);
		assert_int_equal(l->code_bytes, supported[i].code_bytes);
		assert_int_equal(l->string_ascii, supported[i].string_ascii);
	}
}

/* Offsets of the modules, as the compiler has them. */
TEST(files_tell_where_modules_are)
{
	static const struct {
		const char *file;
		uint16_t modules;
	} known[] = {
		{"library-3.8", 56},	{"library-3.9", 856},	{"library-3.10", 856},
		{"library-3.11", 888},	{"library-3.12", 944},	{"library-3.13", 7656},
		{"library-3.14", 7688}, {"library-3.15", 7592},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct runtime_layout layout;

		assert_int_equal(runtime_probed(known[i].file, &layout, NULL), 0);
		assert_int_equal(layout.python.modules, known[i].modules);
	}
}

/* Offsets of the lock, as gdb prints them. */
TEST(files_tell_where_the_gil_is)
{
	static const struct {
		const char *file;
		uint16_t gil, holder, locked;
	} known[] = {
		{"library-2.7", 0, 8, 0},     {"library-3.7", 0, 1272, 0},
		{"library-3.8", 0, 1368, 0},  {"library-3.9", 0, 568, 0},
		{"library-3.10", 0, 568, 0},  {"library-3.11", 0, 576, 0},
		{"library-3.12", 384, 8, 16}, {"library-3.13", 16, 8, 16},
		{"stripped-3.13", 16, 8, 16}, {"program-3.14", 16, 8, 16},
		{"library-3.15", 16, 8, 16},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct runtime_layout layout;
		const struct python_layout *l = &layout.python;

		assert_int_equal(runtime_probed(known[i].file, &layout, NULL), 0);
		assert_int_equal(l->thread_interpreter, l->version == PYTHON_VERSION_2_7 ? 8 : 16);
		assert_int_equal(l->gil, known[i].gil);
		assert_int_equal(l->gil_holder, known[i].holder);
		assert_int_equal(l->gil_locked, known[i].locked);
	}
}

/* Counted frames need the range of the interpreter's code. */
TEST(old_files_tell_where_the_interpreter_is)
{
	struct runtime_layout layout;

	assert_int_equal(runtime_probed("library-3.8", &layout, NULL), 0);
	assert_true(layout.python.eval_end[0] - layout.python.eval_start[0] >= 64);
	assert_int_equal(layout.python.eval_end[1], 0);
}

/* Variables that became members of _PyRuntime; functions of the loop before that of 3.6. */
TEST(oldest_files_tell_where_variables_are)
{
	struct runtime_layout layout;
	const struct python_layout *l = &layout.python;

	assert_int_equal(runtime_probed("program-3.6", &layout, NULL), 0);
	assert_int_equal(l->runtime + l->interpreters, 0x400300);
	assert_int_equal(l->runtime + l->gil_holder, 0x400308);
	assert_true(l->eval_end[0] - l->eval_start[0] >= 64);
	assert_int_equal(runtime_probed("library-2.7", &layout, NULL), 0);
	assert_true(l->eval_end[0] - l->eval_start[0] >= 64);
	assert_int_equal(l->string_form, 9);
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("older-3.5", -ENOTSUP, "Python is older than 3.6, and not 2.7");
	runtime_refused("far-3.6", -ENOTSUP, "Python 3.6 has no known place of its threads");
	runtime_refused("stripped-3.11", -ENOTSUP, "Python 3.10, 3.11 or 3.12 without symbols");
	runtime_refused("newer-3.16", -ENOTSUP, "Python 3.16 is unknown to this version of prof");
	runtime_refused("alpha-3.14", -ENOTSUP, "pre-releases of Python 3.14 are not supported");
	runtime_refused("free-threaded-3.13", -ENOTSUP, "free-threaded Python is not supported");
	runtime_refused("patched-3.12", -EINVAL, "Python 3.12 has code objects of an unknown form");
	runtime_refused("patched-3.14", -EINVAL, "Python 3.14 has code objects of an unknown form");
}

TEST(other_files_have_no_runtime)
{
	struct runtime_layout layout;
	struct error err = {0};

	/* A program with a variable that is called so only in text. */
	assert_int_equal(runtime_probed("../elf_symbols/symbols", &layout, &err), 0);
	assert_int_equal(layout.kind, RUNTIME_NONE);
	assert_int_equal(runtime_probed("../../make-python-seeds", &layout, &err), 0);
	assert_int_equal(layout.kind, RUNTIME_NONE);
	assert_string_equal(err.text, "");
}

TEST(damaged_debug_offsets_are_refused)
{
	uint64_t words[PYTHON_DEBUG_OFFSETS_SIZE / 8] = {0};
	struct python_layout layout;

	memcpy(words, "xdebugpy", 8);
	words[1] = 0x030d00f0;
	assert_int_equal(python_debug_version(words, sizeof(words)), 0x030d00f0);
	/* All offsets are 0, then all too large; then the list ends early. */
	assert_int_equal(python_layout_of_debug_offsets(words, sizeof(words), &layout, NULL),
			 -EINVAL);
	memset(words + 3, 0xff, sizeof(words) - 24);
	assert_int_equal(python_layout_of_debug_offsets(words, sizeof(words), &layout, NULL),
			 -EINVAL);
	assert_int_equal(python_layout_of_debug_offsets(words, 64, &layout, NULL), -EINVAL);
	assert_int_equal(python_debug_version(words, 12), 0);
	words[0] = 0;
	assert_int_equal(python_debug_version(words, sizeof(words)), 0);
}

static size_t bytes_from_hex(const char *text, uint8_t *bytes, size_t max)
{
	size_t size = 0;

	if (strcmp(text, "-") == 0)
		return 0;
	for (; text[0] && text[1]; text += 2) {
		char digits[3] = {text[0], text[1], 0};

		assert_true(size < max);
		bytes[size++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return size;
}

/* The rows that real interpreters print for their own tables: dump_tables.py. */
TEST(lines_are_those_of_the_interpreter)
{
	_cleanup_free_ char *text = text_read_file("tests/unit/python/tables", 1 << 20, NULL);
	char *rest = text, *line;
	unsigned int tables = 0;

	assert_non_null(text);
	while ((line = strsep(&rest, "\n")) && *line) {
		char *minor = strsep(&line, " "), *first = strsep(&line, " ");
		char *units = strsep(&line, " "), *hex = strsep(&line, " "), *row;
		struct managed_code code = {0};
		uint8_t table[4096];
		size_t size = bytes_from_hex(hex, table, sizeof(table)), at = 0;

		python_lines((uint16_t)PYTHON_VERSION(atoi(minor)), table, size,
			     (uint32_t)atoi(first), (uint32_t)atoi(units), &code);
		while ((row = strsep(&line, ","))) {
			const char *number = strchr(row, ':') + 1;

			assert_true(at < code.lines.count);
			assert_int_equal(code.lines.items[at].unit, atoi(row));
			assert_int_equal(code.lines.items[at].line, atoi(number));
			at++;
		}
		assert_int_equal(at, code.lines.count);
		managed_code_release(&code);
		tables++;
	}
	/* Eight versions. */
	assert_true(tables > 8 * 8);
}

/* Increments of 2.7 have no sign, and a line begins in the middle of a unit. */
TEST(old_lines_only_grow)
{
	static const uint8_t table[] = {3, 200, 3, 1, 6, 0};
	struct managed_code code = {0};

	python_lines(PYTHON_VERSION_2_7, table, sizeof(table), 5, 10, &code);
	assert_int_equal(code.lines.count, 3);
	assert_int_equal(code.lines.items[0].line, 5);
	assert_int_equal(code.lines.items[1].unit, 1);
	assert_int_equal(code.lines.items[1].line, 205);
	assert_int_equal(code.lines.items[2].unit, 3);
	assert_int_equal(code.lines.items[2].line, 206);
	managed_code_release(&code);
}

TEST(damaged_line_tables_end_early)
{
	static const uint8_t no_start[] = {0x58}, endless[] = {0xe8, 0x7f, 0x7f, 0x7f};
	static const uint8_t odd[] = {2, 1, 2};
	struct managed_code code = {0};

	python_lines(PYTHON_VERSION(11), no_start, sizeof(no_start), 5, 10, &code);
	assert_int_equal(code.lines.count, 0);
	python_lines(PYTHON_VERSION(11), endless, sizeof(endless), 5, 10, &code);
	assert_int_equal(code.lines.count, 0);
	python_lines(PYTHON_VERSION(9), odd, sizeof(odd), 5, 10, &code);
	assert_int_equal(code.lines.count, 2);
	/* Rows behind the end of the function. */
	python_lines(PYTHON_VERSION(9), odd, sizeof(odd), 5, 1, &code);
	assert_int_equal(code.lines.count, 1);
	python_lines(PYTHON_VERSION(9), NULL, 0, 0xffffffff, 1, &code);
	assert_int_equal(code.lines.items[0].line, 0);
	managed_code_release(&code);
}

TEST(texts_become_utf8)
{
	static const uint8_t narrow[] = {'n', 0xe9, 0};
	static const uint16_t two[] = {0x3a9, 0xdc80, 0x20ac};
	static const uint32_t four[] = {0x20000, 0x110000, 'x'};
	struct strbuf text = {0};

	python_text(1, narrow, sizeof(narrow), &text);
	assert_string_equal(strbuf_text(&text), "n\xc3\xa9\xef\xbf\xbd");
	strbuf_reset(&text);
	python_text(2, two, sizeof(two), &text);
	assert_string_equal(strbuf_text(&text), "\xce\xa9\xef\xbf\xbd\xe2\x82\xac");
	strbuf_reset(&text);
	/* The last character is cut. */
	python_text(4, four, sizeof(four) - 1, &text);
	assert_string_equal(strbuf_text(&text), "\xf0\xa0\x80\x80\xef\xbf\xbd");
	strbuf_reset(&text);
	python_text(3, four, sizeof(four), &text);
	assert_string_equal(strbuf_text(&text), "");
	strbuf_release(&text);
}

struct function {
	struct rec_function rec;
	char body[256];
};

static void add(struct function *s, struct function_text *piece, const void *data, size_t size)
{
	memcpy(s->rec.body + function_body_size(&s->rec), data, size);
	*piece = (struct function_text){.size = (uint32_t)size, .width = 1};
}

static struct runtime_layout layout_of_version(uint16_t version)
{
	struct runtime_layout layout = {.kind = RUNTIME_PYTHON};

	assert_true(python_layout_of_version(version, &layout.python));
	return layout;
}

static struct runtime_layout layout_of(unsigned int minor)
{
	return layout_of_version((uint16_t)PYTHON_VERSION(minor));
}

TEST(a_function_becomes_code)
{
	const struct runtime_layout layout = layout_of(10);
	struct function s = {.rec = {.units = 8, .first_line = 7}};
	struct managed_code code = {0};

	add(&s, &s.rec.name, "m\xe9thode", 7);
	add(&s, &s.rec.file, "/a.py", 5);
	add(&s, &s.rec.lines, "\x04\x01\x02\x80\x0a\xff", 6);
	runtime_python.decode(&layout, &s.rec, &code);
	assert_string_equal(strbuf_text(&code.name), "m\xc3\xa9thode");
	assert_string_equal(strbuf_text(&code.file), "/a.py");
	assert_int_equal(code.first_line, 7);
	assert_int_equal(code.lines.count, 3);
	assert_int_equal(code.lines.items[0].line, 8);
	assert_int_equal(code.lines.items[1].unit, 2);
	assert_int_equal(code.lines.items[1].line, 0);
	assert_int_equal(code.lines.items[2].unit, 3);
	assert_int_equal(code.lines.items[2].line, 7);
	assert_false(code.is_cut);
	assert_false(code.lacks_text);

	/* A name that was cut, lines that were too long to send, a file that was unreadable. */
	s = (struct function){.rec = {.units = 8, .first_line = 7}};
	add(&s, &s.rec.name, "meth", 4);
	s.rec.name.flags = FUNCTION_CUT;
	s.rec.file.flags = FUNCTION_UNREADABLE;
	s.rec.lines = (struct function_text){.length = 5000, .width = 1, .flags = FUNCTION_CUT};
	runtime_python.decode(&layout, &s.rec, &code);
	assert_string_equal(strbuf_text(&code.name), "meth");
	assert_string_equal(strbuf_text(&code.file), "");
	assert_int_equal(code.lines.count, 0);
	assert_true(code.is_cut);
	assert_true(code.lacks_text);
	managed_code_release(&code);
}

/* Places in the image of a process's memory. */
enum {
	CODE = 0x40,
	NAME = 0x100,
	FILE_NAME = 0x200,
	LINES = 0x300,
	IMAGE_SIZE = 0x400,
};

static void put(struct python_image *image, uint64_t at, uint64_t value)
{
	memcpy(image->data + at, &value, sizeof(value));
}

static void put_string(struct python_image *image, uint64_t at, const struct python_layout *l,
		       const char *text)
{
	put(image, at + l->string_length, strlen(text));
	put(image, at + l->string_state, 1 << 2 | 1 << 5 | 1 << 6);
	memcpy(image->data + at + l->string_ascii, text, strlen(text));
}

static struct python_image make_image(const struct python_layout *l)
{
	struct python_image image = {xcalloc(1, IMAGE_SIZE), IMAGE_SIZE};

	put(&image, CODE + l->code_first_line, 7);
	put(&image, CODE + l->code_name, NAME);
	put(&image, CODE + l->code_file, FILE_NAME);
	put(&image, CODE + l->code_lines, LINES);
	put_string(&image, NAME, l, "Deep.method");
	put_string(&image, FILE_NAME, l, "/deep.py");
	put(&image, LINES + l->bytes_size, 4);
	memcpy(image.data + LINES + l->bytes_text, "\xd8\x04\x0b\x80", 4);
	return image;
}

TEST(late_reads_take_the_same_code_only)
{
	static const uint16_t versions[] = {PYTHON_VERSION_2_7, PYTHON_VERSION(6),
					    PYTHON_VERSION(8), PYTHON_VERSION(11),
					    PYTHON_VERSION(12)};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct runtime_layout layout = layout_of_version(versions[i]);
		const struct python_layout *l = &layout.python;
		struct python_image image = make_image(l);
		struct rec_function function = {.code = CODE, .units = 4, .first_line = 7};
		struct managed_code code = {0};

		function.identity = image_identity(&image, l, CODE);
		assert_true(runtime_python.late(&layout, &function, image_read, &image, &code));
		assert_string_equal(strbuf_text(&code.name), "Deep.method");
		assert_string_equal(strbuf_text(&code.file), "/deep.py");
		assert_true(code.lines.count > 0);

		/* Counts of references and calls are not its identity, its file is. */
		put(&image, CODE, 99);
		if (versions[i] == PYTHON_VERSION(11))
			image.data[CODE + 52]++;
		assert_true(runtime_python.late(&layout, &function, image_read, &image, &code));
		image.data[FILE_NAME + l->string_ascii] = '!';
		assert_int_equal(runtime_python.late(&layout, &function, image_read, &image, &code),
				 versions[i] >= PYTHON_VERSION(12));
		put(&image, CODE + l->code_first_line, 8);
		assert_false(runtime_python.late(&layout, &function, image_read, &image, &code));
		/* Failures leave what was known. */
		assert_string_equal(strbuf_text(&code.name), "Deep.method");
		function.code = IMAGE_SIZE - 8;
		assert_false(runtime_python.late(&layout, &function, image_read, &image, &code));
		managed_code_release(&code);
		free(image.data);
	}
}

/* The kernel had no access to the file's name, for a moment. */
TEST(identity_may_lack_the_file)
{
	const struct runtime_layout layout = layout_of(11);
	struct python_image image = make_image(&layout.python);
	struct rec_function function = {.code = CODE, .units = 4, .first_line = 7};
	struct managed_code code = {0};

	image.size = FILE_NAME;
	function.identity = image_identity(&image, &layout.python, CODE);
	image.size = IMAGE_SIZE;
	assert_true(function.identity != image_identity(&image, &layout.python, CODE));
	assert_true(runtime_python.late(&layout, &function, image_read, &image, &code));
	assert_string_equal(strbuf_text(&code.file), "/deep.py");
	put(&image, CODE + layout.python.code_first_line, 8);
	assert_false(runtime_python.late(&layout, &function, image_read, &image, &code));
	managed_code_release(&code);
	free(image.data);
}

struct changing {
	struct python_image image;
	unsigned int reads_left; /* until the code object changes */
};

static bool read_changing(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct changing *changing = ctx;

	if (changing->reads_left-- == 0)
		changing->image.data[CODE + 20]++;
	return image_read(&changing->image, addr, to, size);
}

TEST(code_that_changes_while_read_is_not_taken)
{
	const struct runtime_layout layout = layout_of(12);
	struct rec_function function = {.code = CODE, .units = 4, .first_line = 7};
	unsigned int failed = 0, reads = 0;
	bool done = false;

	for (; !done; reads++) {
		struct changing changing = {make_image(&layout.python), reads};
		struct managed_code code = {0};

		function.identity = image_identity(&changing.image, &layout.python, CODE);
		done = runtime_python.late(&layout, &function, read_changing, &changing, &code);
		failed += !done;
		assert_true(done || !code.name.size);
		managed_code_release(&code);
		free(changing.image.data);
	}
	/* All reads but the last. */
	assert_true(failed > 5);
}

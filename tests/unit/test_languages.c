/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define JS LANGUAGE_JAVASCRIPT

static const struct {
	const char *text, *name, *file;
	uint32_t line, column;
	uint8_t language;
	const char *tier; /* NULL: no language */
	bool is_js;
} cases[] = {
	/* V8, current and older */
	{"JS:*fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Optimized", true},
	{"JS:~fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Interpreter", true},
	{"JS:^fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Baseline", true},
	{"JS:+fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Mid-tier", true},
	{"JS:fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Other", true},
	{"LazyCompile:*f file:///w.js:1:2", "f", "/w.js", 1, 2, JS, "Optimized", true},
	{"Function:~f node:fs:12:3", "f", "node:fs", 12, 3, JS, "Interpreter", true},
	{"LazyCompile:*f vm.js:12", "f", "vm.js", 12, 0, JS, "Optimized", true},
	{"Script:~ /w.js:1:1", "(anonymous)", "/w.js", 1, 1, JS, "Interpreter", true},
	{"Eval:~ :1:1", "(anonymous)", NULL, 1, 1, JS, "Interpreter", true},
	{"InterpretedFunction:f /w.js:1:1", "f", "/w.js", 1, 1, JS, "Interpreter", true},
	{"JS:o*fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Optimized", true},
	{"JS:*'fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Optimized", true},
	{"JS:o+'fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Mid-tier", true},
	{"JS:open /tmp/w.js:1:13", "open", "/tmp/w.js", 1, 13, JS, "Other", true},
	{"JS:*lonely", "lonely", NULL, 0, 0, JS, "Optimized", true},
	{"JS:*", "(anonymous)", NULL, 0, 0, JS, "Optimized", true},
	{"JS:", "(anonymous)", NULL, 0, 0, JS, "Other", true},
	/* Spaces in either part */
	{"JS:*get a /b c/d.js:4:5", "get a", "/b c/d.js", 4, 5, JS, "Optimized", true},
	{"JS:*a b file.js:4:5", "a", "b file.js", 4, 5, JS, "Optimized", true},
	{"JS:*f webpack-internal:///./a.js:4:5", "f", "webpack-internal:///./a.js", 4, 5, JS,
	 "Optimized", true},
	/* Numbers that are not a place */
	{"JS:*f /w.js:1234567890:1", "f", "/w.js:1234567890", 1, 0, JS, "Optimized", true},
	{"JS:*f /w.js:", "f", "/w.js:", 0, 0, JS, "Optimized", true},
	{"JS:*f 1:2", "f", "1", 2, 0, JS, "Optimized", true},
	/* Code that is no function of a script: its name tells what it is. */
	{"Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0, 0, JS, "Builtin", false},
	{"BytecodeHandler:Add", "BytecodeHandler:Add", NULL, 0, 0, JS, "Interpreter", false},
	{"RegExp:a b:1", "RegExp:a b:1", NULL, 0, 0, JS, "RegExp", false},
	{"Stub:x", "Stub:x", NULL, 0, 0, JS, "Other", false},
	/* CPython */
	{"py::K.run:/tmp/w.py", "K.run", "/tmp/w.py", 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"py::f.<locals>.<genexpr>:<frozen site>", "f.<locals>.<genexpr>", "<frozen site>", 0, 0,
	 LANGUAGE_PYTHON, "Other", false},
	{"py::f", "f", NULL, 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"py::", "py::", NULL, 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"py:::", "py:::", NULL, 0, 0, LANGUAGE_PYTHON, "Other", false},
	/* Anything else */
	{"int W.fib(int)", "int W.fib(int)", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"js:*f /w.js:1:2", "js:*f /w.js:1:2", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"*", "*", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"", "", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
};

TEST(texts_of_compilers)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct code_name name;

		code_name_parse(&name, cases[i].text, strlen(cases[i].text));
		assert_int_equal(name.name_size, strlen(cases[i].name));
		assert_memory_equal(name.name, cases[i].name, name.name_size);
		assert_int_equal(name.file != NULL, cases[i].file != NULL);
		if (name.file) {
			assert_int_equal(name.file_size, strlen(cases[i].file));
			assert_memory_equal(name.file, cases[i].file, name.file_size);
		}
		assert_int_equal(name.line, cases[i].line);
		assert_int_equal(name.column, cases[i].column);
		assert_int_equal(name.language, cases[i].language);
		if (cases[i].tier)
			assert_string_equal(
				languages[name.language]->category.subcategories[name.tier],
				cases[i].tier);
		assert_int_equal(name.is_js, cases[i].is_js);
	}
}

/* Every prefix, in memory that ends there: sanitizers see reads beyond it. */
TEST(texts_that_end_anywhere)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (size_t size = 0; size <= strlen(cases[i].text); size++) {
			char *text = malloc(size + !size);
			struct code_name name;

			memcpy(text, cases[i].text, size);
			code_name_parse(&name, text, size);
			assert_true(name.name_size || !size);
			assert_true(!name.file || name.file_size);
			free(text);
		}
	}
}

TEST(rows_are_whole)
{
	for (size_t i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		const struct language *language = languages[i];

		assert_non_null(language);
		assert_non_null(language->category.name);
		assert_non_null(language->category.color);
		assert_string_equal(language->category.subcategories[0], "Other");
		assert_true(language->program || !language->remedy);
		/* Either tells the language of its code. */
		assert_true(language->parse_name || language->library);
	}
	assert_null(languages[LANGUAGE_NONE]);
}

TEST(marks_of_runtimes)
{
	assert_int_equal(language_of_library("libjvm.so"), LANGUAGE_JAVA);
	assert_int_equal(language_of_library("libjvm.so.1"), LANGUAGE_NONE);
	assert_int_equal(language_of_library("libruby-3.1.so.3.1.2"), LANGUAGE_RUBY);
	assert_int_equal(language_of_library("libruby"), LANGUAGE_NONE);
	assert_int_equal(language_of_library(""), LANGUAGE_NONE);
	assert_int_equal(language_of_program("node"), LANGUAGE_JAVASCRIPT);
	assert_int_equal(language_of_program("python3.12"), LANGUAGE_PYTHON);
	assert_int_equal(language_of_program("java"), LANGUAGE_JAVA);
	assert_int_equal(language_of_program("ruby"), LANGUAGE_NONE);
	assert_int_equal(language_of_program(""), LANGUAGE_NONE);
	assert_int_equal(language_dump_line_shift(0xdeadbeef), 0x40);
	assert_int_equal(language_dump_line_shift(0), 0);
	assert_int_equal(language_dump_line_shift(1), 0);
}

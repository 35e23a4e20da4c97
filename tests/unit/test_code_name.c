/* SPDX-License-Identifier: MIT */
#include "lib/session/code_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/profile/categories.h"

#define JS LANGUAGE_JAVASCRIPT

static const struct {
	const char *text, *name, *file;
	uint32_t line, column;
	uint8_t language, tier;
	bool is_js;
} cases[] = {
	/* V8 as it is, and as it was */
	{"JS:*fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:~fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, JAVASCRIPT_INTERPRETER, true},
	{"JS:^fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, JAVASCRIPT_BASELINE, true},
	{"JS:+fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, JAVASCRIPT_MIDTIER, true},
	{"JS:fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, JAVASCRIPT_OTHER, true},
	{"LazyCompile:*f file:///w.js:1:2", "f", "/w.js", 1, 2, JS, JAVASCRIPT_OPTIMIZED, true},
	{"Function:~f node:fs:12:3", "f", "node:fs", 12, 3, JS, JAVASCRIPT_INTERPRETER, true},
	{"LazyCompile:*f vm.js:12", "f", "vm.js", 12, 0, JS, JAVASCRIPT_OPTIMIZED, true},
	{"Script:~ /w.js:1:1", "(anonymous)", "/w.js", 1, 1, JS, JAVASCRIPT_INTERPRETER, true},
	{"Eval:~ :1:1", "(anonymous)", NULL, 1, 1, JS, JAVASCRIPT_INTERPRETER, true},
	{"InterpretedFunction:f /w.js:1:1", "f", "/w.js", 1, 1, JS, JAVASCRIPT_INTERPRETER, true},
	{"JS:*lonely", "lonely", NULL, 0, 0, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:*", "(anonymous)", NULL, 0, 0, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:", "(anonymous)", NULL, 0, 0, JS, JAVASCRIPT_OTHER, true},
	/* Spaces in either part */
	{"JS:*get a /b c/d.js:4:5", "get a", "/b c/d.js", 4, 5, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:*a b file.js:4:5", "a", "b file.js", 4, 5, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:*f webpack-internal:///./a.js:4:5", "f", "webpack-internal:///./a.js", 4, 5, JS,
	 JAVASCRIPT_OPTIMIZED, true},
	/* Numbers that are none */
	{"JS:*f /w.js:1234567890:1", "f", "/w.js:1234567890", 1, 0, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:*f /w.js:", "f", "/w.js:", 0, 0, JS, JAVASCRIPT_OPTIMIZED, true},
	{"JS:*f 1:2", "f", "1", 2, 0, JS, JAVASCRIPT_OPTIMIZED, true},
	/* Not functions of a script: what they are is in the name. */
	{"Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0, 0, JS, JAVASCRIPT_BUILTIN, false},
	{"BytecodeHandler:Add", "BytecodeHandler:Add", NULL, 0, 0, JS, JAVASCRIPT_INTERPRETER,
	 false},
	{"RegExp:a b:1", "RegExp:a b:1", NULL, 0, 0, JS, JAVASCRIPT_REGEXP, false},
	{"Stub:x", "Stub:x", NULL, 0, 0, JS, JAVASCRIPT_OTHER, false},
	/* CPython */
	{"py::K.run:/tmp/w.py", "K.run", "/tmp/w.py", 0, 0, LANGUAGE_PYTHON, 0, false},
	{"py::f.<locals>.<genexpr>:<frozen site>", "f.<locals>.<genexpr>", "<frozen site>", 0, 0,
	 LANGUAGE_PYTHON, 0, false},
	{"py::f", "f", NULL, 0, 0, LANGUAGE_PYTHON, 0, false},
	{"py::", "py::", NULL, 0, 0, LANGUAGE_PYTHON, 0, false},
	{"py:::", "py:::", NULL, 0, 0, LANGUAGE_PYTHON, 0, false},
	/* Anything else */
	{"int W.fib(int)", "int W.fib(int)", NULL, 0, 0, LANGUAGE_NONE, 0, false},
	{"js:*f /w.js:1:2", "js:*f /w.js:1:2", NULL, 0, 0, LANGUAGE_NONE, 0, false},
	{"*", "*", NULL, 0, 0, LANGUAGE_NONE, 0, false},
	{"", "", NULL, 0, 0, LANGUAGE_NONE, 0, false},
};

static void texts_of_compilers(void **state)
{
	(void)state;
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
		assert_int_equal(name.tier, cases[i].tier);
		assert_int_equal(name.is_js, cases[i].is_js);
	}
}

/* Every beginning of them, in memory that ends there: whoever reads beyond it is seen. */
static void string_pool_that_end_anywhere(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_of_compilers),
		cmocka_unit_test(string_pool_that_end_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

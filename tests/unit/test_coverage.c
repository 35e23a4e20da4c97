/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "lib/recording/coverage.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

static module_id add_module(struct profile *p, const char *name, enum symbol_reason reason)
{
	string_id id = strings_intern(&p->strings, name);
	module_id module = modules_add(&p->modules, PROFILE_MODULE_FILE, id, id);

	modules_get(&p->modules, module)->reason = reason;
	return module;
}

static void add_frame(struct profile *p, module_id module, const char *name, bool is_named,
		      uint32_t line)
{
	struct func func = {
		.name = strings_intern(&p->strings, name),
		.module = module,
		.file = NO_SOURCE_FILE,
		.is_named = is_named,
	};
	struct frame frame = {
		.module = module,
		.func = funcs_intern(&p->funcs, &func),
		.offset = p->frames.rows.count,
		.symbol = NO_SYMBOL,
		.line = line,
	};

	frames_intern(&p->frames, &frame);
	/* A function inlined there does not make it a second place. */
	frame.inline_depth = 1;
	frames_intern(&p->frames, &frame);
}

TEST(modules_are_counted)
{
	struct profile *p = profile_new();
	struct coverage n = {0};
	_cleanup_(strbuf_release) struct strbuf text = {0};
	module_id good = add_module(p, "good", SYMBOLS_FOUND), bad;

	add_module(p, "unused", SYMBOLS_STRIPPED);
	bad = add_module(p, "bad\nname", SYMBOLS_STRIPPED);
	add_frame(p, good, "main", true, 3);
	add_frame(p, bad, "f", true, 0);
	add_frame(p, bad, "0x12", false, 0);
	add_frame(p, bad, "fun_13", false, 0);
	add_frame(p, NO_MODULE, "0x7f", false, 0);
	coverage_count(&n, p);
	assert_int_equal(n.rows.count, 3);
	coverage_describe(&n, p, "> ", &text);
	assert_string_equal(strbuf_text(&text),
			    ">   frames    named    lines  module\n"
			    ">        3        1        0  bad?name: stripped, without a build id "
			    "or link that leads to a debug file\n"
			    ">        1        1        1  good\n"
			    ">        1        0        0  (no file)\n");
	coverage_add_extra(&n, p);
	assert_int_equal(p->meta.extra.count, 3);
	assert_string_equal(p->meta.extra.items[0].section, "Symbols");
	assert_string_equal(p->meta.extra.items[0].label, "bad?name");
	assert_string_equal(p->meta.extra.items[1].value, "1 of 1 frames named, 1 with lines");
	coverage_release(&n);
	profile_free(p);
}

/* Profiles of other writers may have such a lib; its label must not be empty. */
TEST(an_empty_name_is_told)
{
	struct profile *p = profile_new();
	struct coverage n = {0};

	add_frame(p, add_module(p, "", SYMBOLS_STRIPPED), "0x12", false, 0);
	coverage_count(&n, p);
	coverage_add_extra(&n, p);
	assert_string_equal(p->meta.extra.items[0].label, "(no name)");
	coverage_release(&n);
	profile_free(p);
}

TEST(the_rest_is_summed_up)
{
	struct profile *p = profile_new();
	struct coverage n = {0};
	_cleanup_(strbuf_release) struct strbuf text = {0};
	char name[16];

	for (int i = 0; i < 45; i++) {
		snprintf(name, sizeof(name), "lib%d", i);
		add_frame(p, add_module(p, name, SYMBOLS_FOUND), name, true, 1);
	}
	coverage_count(&n, p);
	coverage_describe(&n, p, "", &text);
	assert_non_null(
		strstr(strbuf_text(&text), "  lib39\n       5        5        5  5 more\n"));
	coverage_add_extra(&n, p);
	assert_int_equal(p->meta.extra.count, 41);
	assert_string_equal(p->meta.extra.items[40].label, "5 more");
	coverage_release(&n);
	profile_free(p);
}

/* SPDX-License-Identifier: MIT */
/* The versions that the summary begins its line about functions with. */
#include "lib/base/cleanup.h"
#include "lib/live/instruments/runtimes/runtimes.h"
#include "tests/unit/test.h"

static void add(struct layouts *l, const struct runtime_layout *layout)
{
	struct found_layout found = {.layout = *layout};

	runtime_write_version(layout, found.version, sizeof(found.version));
	vec_push(&l->rows, found);
}

static void expect(const struct layouts *l, const char *text)
{
	_cleanup_(strbuf_release) struct strbuf versions = {0};

	layouts_list_versions(l, RUNTIME_NONE, &versions);
	assert_string_equal(strbuf_text(&versions), text);
}

TEST(runtimes_that_have_not_started_are_left_out)
{
	struct runtime_layout python = {.kind = RUNTIME_PYTHON, .python.version = 3 << 8 | 11};
	struct runtime_layout java = {.kind = RUNTIME_HOTSPOT};
	_cleanup_(strbuf_release) struct strbuf versions = {0};
	struct layouts layouts = {0};

	add(&layouts, &java);
	expect(&layouts, "");
	add(&layouts, &python);
	add(&layouts, &java);
	add(&layouts, &python);
	expect(&layouts, "Python 3.11");
	java.hotspot.version = 17;
	add(&layouts, &java);
	expect(&layouts, "Python 3.11, Java 17");
	layouts_list_versions(&layouts, RUNTIME_HOTSPOT, &versions);
	assert_string_equal(strbuf_text(&versions), "Java 17");
	layouts_release(&layouts);
}

TEST(runtimes_without_functions_are_left_out_if_others_have_some)
{
	struct runtime_layout python = {.kind = RUNTIME_PYTHON, .python.version = 3 << 8 | 11};
	struct runtime_layout java = {.kind = RUNTIME_HOTSPOT, .hotspot.version = 17};
	struct layouts layouts = {0};

	add(&layouts, &java);
	add(&layouts, &python);
	add(&layouts, &java);
	expect(&layouts, "Java 17, Python 3.11");
	layouts.rows.items[1].has_functions = true;
	expect(&layouts, "Python 3.11");
	/* The same version of two files. */
	layouts.rows.items[2].has_functions = true;
	expect(&layouts, "Python 3.11, Java 17");
	layouts_release(&layouts);
}

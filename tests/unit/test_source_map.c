/* SPDX-License-Identifier: MIT */
/* Source maps, and the places in scripts that they lead from. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/quote.h"
#include "lib/code/runtimes/runtime.h"
#include "tests/unit/test.h"

#define MAP(names, mappings) \
	"{\"version\":3,\"mappings\":\"" mappings "\",\"names\":[" names "]," \
	"\"sources\":[\"../src/a.ts\",\"b.ts\",null],\"sourceRoot\":\"\"}"

static struct source_map *parse(const char *json, const char *beside)
{
	return source_map_parse(json, strlen(json), beside);
}

/* Checks the place that a place leads to; line 0: none. */
static void leads_to(const struct source_map *map, uint32_t line, uint32_t column, const char *file,
		     uint32_t source_line)
{
	const struct source_map_segment *s = source_map_find(map, line, column);

	if (!source_line) {
		assert_true(!s || !s->source);
		return;
	}
	assert_non_null(s);
	assert_string_equal(map->texts.text + s->source, file);
	assert_int_equal(s->source_line, source_line);
}

TEST(segments_begin_at_their_columns)
{
	/* 4 columns: file 0, line 1; 6: nothing; 6 + 2^15: file 1, line 18; line 3: line 17. */
	struct source_map *map = parse(MAP("", "IAAA,E,gggCCiBA;;AADA"), "/d/out/x.js.map");

	assert_non_null(map);
	leads_to(map, 1, 3, NULL, 0);
	leads_to(map, 1, 4, "/d/src/a.ts", 1);
	leads_to(map, 1, 5, "/d/src/a.ts", 1);
	leads_to(map, 1, 6, NULL, 0);
	leads_to(map, 1, 32773, NULL, 0);
	leads_to(map, 1, 32774, "/d/out/b.ts", 18);
	leads_to(map, 1, UINT32_MAX, "/d/out/b.ts", 18);
	leads_to(map, 2, 0, NULL, 0);
	leads_to(map, 3, 0, "/d/out/b.ts", 17);
	assert_int_equal(map->only_source, 0);
	source_map_release(map);
}

TEST(maps_that_are_damaged_are_refused)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"mappings\":1}",
		"{\"mappings\":\"AAAA\"",
		MAP("", ""),
		MAP("", "AA"),
		MAP("", "AAA"),
		MAP("", "AAAAAA"),
		MAP("", "D"),
		MAP("", "A!"),
		MAP("", "g"),
		MAP("", "ggggggggA"),
		MAP("", "AADA"),
		MAP("", "A,AADA"),
		"{\"sections\":[{}]}",
		"{\"sections\":[{\"map\":{\"mappings\":\"!\"}}]}",
		/* Sections have none of their own. */
		"{\"sections\":[{\"map\":{\"sections\":[{\"map\":{\"mappings\":\"A\"}}]}}]}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_null(parse(bad[i], "/x.map"));
}

TEST(files_that_a_map_does_not_have_are_none)
{
	struct source_map *map = parse(MAP("", "AAAA,CEAA,CAAA"), "/x.map");

	leads_to(map, 1, 0, "/src/a.ts", 1);
	leads_to(map, 1, 1, NULL, 0);
	source_map_release(map);
	map = parse(MAP("", "AKAA"), "/x.map");
	leads_to(map, 1, 0, NULL, 0);
	source_map_release(map);
}

TEST(sections_begin_at_their_offsets)
{
	struct source_map *map =
		parse("{\"sections\":[{\"offset\":{\"line\":0,\"column\":10},\"map\":"
		      "{\"mappings\":\"CAAA;CACA\",\"sources\":[\"a\"]}},"
		      "{\"offset\":{\"line\":7,\"column\":3},\"map\":"
		      "{\"mappings\":\"AAAA\",\"sources\":[\"b\"]}}]}",
		      "/x.map");

	assert_non_null(map);
	leads_to(map, 1, 10, NULL, 0);
	leads_to(map, 1, 11, "/a", 1);
	leads_to(map, 2, 0, NULL, 0);
	leads_to(map, 2, 1, "/a", 2);
	leads_to(map, 8, 3, "/b", 1);
	assert_int_equal(map->only_source, 0);
	source_map_release(map);
}

static void path_is(const char *beside, const char *name, const char *path)
{
	struct strbuf text = {0};

	strbuf_adds(&text, "@");
	source_map_add_path(&text, beside, name);
	assert_string_equal(text.text + 1, path);
	assert_int_equal(strlen(text.text), text.size);
	strbuf_release(&text);
}

TEST(paths_are_relative_to_the_map)
{
	path_is("/d/out/x.js", "x.js.map", "/d/out/x.js.map");
	path_is("/d/out/x.js", "./y/../../src/./a.ts", "/d/src/a.ts");
	path_is("/d/out/x.js", "../../../../a.ts", "/a.ts");
	path_is("/d/out/x.js", "..", "/d/");
	path_is("/x.js", "a//b.ts", "/a/b.ts");
	path_is("/d/x.js", "/e/a.ts", "/e/a.ts");
	path_is("/d/x.js", "file:///e/a.ts", "/e/a.ts");
	path_is("/d/x.js", "webpack://app/./a.ts", "webpack://app/./a.ts");
	path_is("evalmachine.<anonymous>", "a.ts", "a.ts");
}

TEST(relative_files_begin_at_the_root_of_sources)
{
	struct source_map *map =
		parse("{\"mappings\":\"AAAA;ACAA\",\"sources\":[\"a.ts\",\"/b.ts\"],"
		      "\"sourceRoot\":\"../src\"}",
		      "/d/out/x.map");

	leads_to(map, 1, 0, "/d/src/a.ts", 1);
	leads_to(map, 2, 0, "/b.ts", 1);
	source_map_release(map);
}

TEST(maps_in_urls_are_base64)
{
	static const char json[] = "{\"mappings\":\"AAAA\",\"sources\":[\"a\"]}";
	static const char head[] = "data:application/json;charset=utf-8;base64,";
	char url[256] = {0};
	struct source_map *map;

	memcpy(url, head, sizeof(head));
	base64_encode(json, sizeof(json) - 1, url + sizeof(head) - 1);
	map = source_map_parse_url(url, "/d/x.js");
	assert_non_null(map);
	leads_to(map, 1, 0, "/d/a", 1);
	assert_string_equal(map->texts.text + map->only_source, "/d/a");
	assert_ptr_equal(source_map_share(map), map);
	source_map_release(map);
	leads_to(map, 1, 0, "/d/a", 1);
	source_map_release(map);
	url[sizeof(head) + 2] = '!';
	assert_null(source_map_parse_url(url, "/d/x.js"));
	assert_null(source_map_parse_url("x.js.map", "/d/x.js"));
	assert_null(source_map_parse_url("data:application/json,{}", "/d/x.js"));
}

TEST(functions_have_the_names_of_their_segments)
{
	/* "let t=1,o=n=>n;function p(n){}": t, o and p have names, the second n, too. */
	struct source_map *map = parse(
		MAP("\"total\",\"leaf\",\"number\",\"part\"", "AAAA,IAAIA,EAAI,EAAIC,EAAIC,UAAaC"),
		"/x.map");

	assert_string_equal(source_map_function(map, 1, 10, 1), "leaf");
	/* A longer name cannot be that of the segment. */
	assert_null(source_map_function(map, 1, 10, 3));
	/* Ends before it: there is other text between the two. */
	assert_null(source_map_function(map, 1, 40, 1));
	assert_null(source_map_function(map, 1, 7, 1));
	assert_null(source_map_function(map, 1, 0, 1));
	assert_null(source_map_function(map, 2, 10, 1));
	source_map_release(map);
	/* The segment of a name that is the same in both. */
	map = parse(MAP("\"first\"", "AAAAA,EAAE,EAAE"), "/x.map");
	assert_null(source_map_function(map, 1, 4, 1));
	source_map_release(map);
}

static void url_is(const char *text, const char *url)
{
	struct line_starts lines = {0};

	line_starts_add(&lines, 1, text, strlen(text));
	assert_string_equal(strbuf_text(&lines.map), url);
	line_starts_release(&lines);
	assert_true(line_starts_add_utf8(&lines, text, strlen(text)));
	assert_string_equal(strbuf_text(&lines.map), url);
	line_starts_release(&lines);
}

TEST(the_last_comment_has_the_url)
{
	url_is("f();\n//# sourceMappingURL=x.js.map", "x.js.map");
	url_is("f();\n//@ sourceMappingURL=x.js.map\n", "x.js.map");
	url_is("/*# sourceMappingURL=x.js.map */", "x.js.map");
	url_is("//## sourceMappingURL=a\n//# sourceMappingURL=b\r\n", "b");
	url_is("//# sourceMappingURL=a\nw(\"//# sourceMappingURL=\"+b)", "");
	url_is("//# sourceMappingURL =a\n//# SourceMappingURL=b", "");
	url_is("//# sourceMappingURL=", "");
}

TEST(code_has_the_lines_and_the_name_that_were_written)
{
	/* "/&ast;-&ast;/function o(n){n()}\n": the function, its name, its parameter, and the call.
	 */
	static const char script[] = "/*-*/function o(n){n()}\n";
	struct source_map *map = parse("{\"mappings\":\"KAUA,SAASA,EAAEC,GACXC\","
				       "\"names\":[\"leaf\",\"next\",\"next\"],"
				       "\"sources\":[\"a.ts\"]}",
				       "/d/x.js");
	struct line_starts lines = {0};
	struct managed_code code = {.start = 15};
	struct managed_function inlined = {.start = 15};

	line_starts_add(&lines, 1, script, strlen(script));
	strbuf_adds(&code.name, "o");
	strbuf_adds(&code.file, "/d/x.js");
	strbuf_adds(&inlined.name, "other");
	vec_push(&code.inlined, inlined);
	vec_push(&code.places, ((struct managed_place){0, 16, 0, 0}));
	vec_push(&code.places, ((struct managed_place){4, 19, 0, 0}));
	vec_push(&code.places, ((struct managed_place){4, 19, 1, 0}));
	vec_push(&code.places, ((struct managed_place){9, 1, 0, 0}));
	for (uint32_t i = 0; i < 2; i++)
		runtime_set_lines(&code, i, &lines, map);
	assert_string_equal(code.name.text, "leaf");
	assert_string_equal(code.file.text, "/d/a.ts");
	assert_int_equal(code.first_line, 11);
	assert_int_equal(code.places.items[0].line, 11);
	assert_int_equal(code.places.items[1].line, 12);
	assert_int_equal(code.places.items[3].line, 0);
	assert_string_equal(code.inlined.items[0].name.text, "other");
	assert_string_equal(code.inlined.items[0].file.text, "/d/a.ts");
	assert_int_equal(code.inlined.items[0].first_line, 11);
	line_starts_release(&lines);
	managed_code_release(&code);
	source_map_release(map);
}

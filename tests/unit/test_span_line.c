/* SPDX-License-Identifier: MIT */
#include "lib/live/code/span_files.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/test.h"

/* Prints what was understood; "" if the line is malformed. */
static const char *parsed(const char *text)
{
	static const char kinds[] = {'w', 'i', 'b', 'e'};
	static char out[512];
	struct span_line line;
	int size;

	if (!span_line_parse(text, strlen(text), &line))
		return "";
	size = snprintf(out, sizeof(out), "%c %llu-%llu [%.*s] <%.*s> #%.*s @%u", kinds[line.kind],
			(unsigned long long)line.start, (unsigned long long)line.end,
			(int)line.id.size, line.id.at ? line.id.at : "", (int)line.name.size,
			line.name.at, (int)line.category.size,
			line.category.at ? line.category.at : "", line.tid);
	for (size_t i = 0; i < line.attribute_count; i++)
		size += snprintf(out + size, sizeof(out) - (size_t)size, " %.*s=%.*s",
				 (int)line.attributes[i].key.size, line.attributes[i].key.at,
				 (int)line.attributes[i].value.size, line.attributes[i].value.at);
	return out;
}

TEST(lines)
{
	static const struct {
		const char *line, *wanted;
	} cases[] = {
		{"5 9 a name", "w 5-9 [] <a name> # @0"},
		{"5 5 x", "w 5-5 [] <x> # @0"},
		{"5 9 kept @7 #c k=v", "w 5-9 [] <kept @7 #c k=v> # @0"},
		{"5 9 windows\r", "w 5-9 [] <windows> # @0"},
		{"i 5 a name", "i 5-5 [] <a name> # @0"},
		{"i 5 n @7 #c k=v k2=", "i 5-5 [] <n> #c @7 k=v k2="},
		{"i 5 @7 n", "i 5-5 [] <@7 n> # @0"},
		{"i 5 n #c w @7", "i 5-5 [] <n #c w> # @7"},
		{"i 5 n 1=2", "i 5-5 [] <n 1=2> # @0"},
		{"i 5 n @0", "i 5-5 [] <n @0> # @0"},
		{"i 5 n #", "i 5-5 [] <n #> # @0"},
		{"b 5 id name", "b 5-5 [id] <name> # @0"},
		{"b 5 id a name k=v", "b 5-5 [id] <a name> # @0 k=v"},
		{"e 5 id", "e 5-5 [id] <> # @0"},
		{"e 5 id status=1", "e 5-5 [id] <> # @0 status=1"},
		{"e 5 id name", ""},
		{"e 5", ""},
		{"b 5 id", ""},
		{"b 5 id @7", ""},
		{"i 5", ""},
		{"i 5 @7", ""},
		{"i5 x", ""},
		{"9 5 backwards", ""},
		{"5 9", ""},
		{"5 9 ", ""},
		{"5", ""},
		{"", ""},
		{"x 5 y", ""},
		{"0x5 9 y", ""},
		{"18446744073709551616 2 y", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(parsed(cases[i].line), cases[i].wanted);
}

TEST(names)
{
	uint32_t pid, tid;

	assert_true(span_files_is_file("/a/marker-12.txt", &pid, &tid));
	assert_int_equal(pid, 12);
	assert_int_equal(tid, 0);
	assert_true(span_files_is_file("marker-12-34.txt (deleted)", &pid, &tid));
	assert_int_equal(tid, 34);
	assert_false(span_files_is_file("/a/marker-12.txt2", &pid, &tid));
	assert_false(span_files_is_file("/a/marker-.txt", &pid, &tid));
	assert_false(span_files_is_file("/a/marker-0.txt", &pid, &tid));
	assert_false(span_files_is_file("/a/marker-12-.txt", &pid, &tid));
	assert_false(span_files_is_file("/marker-12.txt/a", &pid, &tid));
}

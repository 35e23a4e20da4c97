/* SPDX-License-Identifier: MIT */
/* A script with the URL of its map, and, behind a NUL, the map that the URL may name. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"
#include "tests/fuzz/text_check.h"

/* Every segment leads to a line of a file, and lies behind the one before. */
static void check_map(const struct source_map *map)
{
	const struct source_map_segment *last = NULL;

	require(map->texts.size && !map->texts.text[0] && map->only_source < map->texts.size);
	vec_for_each(&map->segments, const struct source_map_segment *, it) {
		require(it->source < map->texts.size && it->name < map->texts.size);
		require(it->line && !it->source == !it->source_line);
		require(!last || last->line < it->line ||
			(last->line == it->line && last->column <= it->column));
		require(source_map_find(map, it->line, it->column)->column == it->column);
		last = it;
	}
}

static void set_lines(const struct line_starts *lines, const struct source_map *map)
{
	struct managed_code code = {0};

	for (uint32_t start = 0; start < 64; start++) {
		strbuf_reset(&code.name);
		strbuf_adds(&code.name, "o");
		code.start = (int32_t)(start * lines->length / 64);
		vec_push(&code.places, ((struct managed_place){start, code.start + 1, 0, 0}));
		runtime_set_lines(&code, 0, lines, map);
		check_text(&code.name);
		check_text(&code.file);
	}
	managed_code_release(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	size_t script = end ? (size_t)(end - data) : size;
	struct line_starts lines = {0};
	struct source_map *map;

	line_starts_add(&lines, 1, data, script);
	map = source_map_parse_url(strbuf_text(&lines.map), "/d/out/x.js");
	if (!map && end)
		map = source_map_parse((const char *)end + 1, size - script - 1, "/d/out/x.js.map");
	if (map)
		check_map(map);
	set_lines(&lines, map);
	source_map_release(map);
	line_starts_release(&lines);
	return 0;
}

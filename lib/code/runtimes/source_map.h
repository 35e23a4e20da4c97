/* SPDX-License-Identifier: MIT */
/*
 * Source maps (ECMA-426), which lead from places in generated code to those in the files that
 * people wrote.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

/* Bytes of a map; a larger one is not read. */
#define SOURCE_MAP_MAX ((size_t)16 << 20)

/* Code from this place on, up to the next segment or the end of the line. */
struct source_map_segment {
	uint32_t line, column; /* in the generated code: from 1, and from 0 in units of UTF-16 */
	uint32_t source; /* file, offset in `texts`; 0: none */
	uint32_t source_line; /* from 1 */
	uint32_t name; /* original name of what is there, offset in `texts`; 0: the same */
};

struct source_map {
	VEC(struct source_map_segment) segments; /* ascending */
	struct strbuf texts; /* terminated UTF-8; "" at offset 0 */
	uint32_t only_source; /* offset in `texts`; 0: several files, or none */
	unsigned int users;
};

/*
 * Reads a map. Relative files are those in the folder of `beside`, the path of the map, or of the
 * script that contains it. Returns NULL if it is no map or too large.
 */
struct source_map *source_map_parse(const char *json, size_t size, const char *beside);
/* Does the same for a map in a data: URL. */
struct source_map *source_map_parse_url(const char *url, const char *beside);
/* Adds a user of the map, which may be NULL. */
struct source_map *source_map_share(struct source_map *map);
/* Frees the map with its last user; accepts NULL. */
void source_map_release(struct source_map *map);

/* Returns the last segment of the line that begins at or before the column; NULL: none. */
const struct source_map_segment *source_map_find(const struct source_map *map, uint32_t line,
						 uint32_t column);
/*
 * Returns the original name of the function that starts at that place, right behind its name, which
 * has `size` units in the generated code; NULL: the same, or unknown.
 */
const char *source_map_function(const struct source_map *map, uint32_t line, uint32_t column,
				size_t size);

/* Appends the path of a file or URL that is named in the file `beside`. */
void source_map_add_path(struct strbuf *out, const char *beside, const char *name);

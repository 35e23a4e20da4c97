/* SPDX-License-Identifier: MIT */
/*
 * Source maps (ECMA-426), which map positions in generated code to positions in the original files.
 */
#pragma once

#include "lib/base/base.h"

/* Maximum bytes of a map; a larger one is not read. */
#define SOURCE_MAP_MAX ((size_t)16 << 20)

/* Code from this position on, up to the next segment or the end of the line. */
struct source_map_segment {
	uint32_t line, column; /* in the generated code: from 1; from 0 in UTF-16 units */
	uint32_t source; /* file, offset in `texts`; 0: none */
	uint32_t source_line; /* from 1 */
	uint32_t name; /* original name at this position, offset in `texts`; 0: the same */
};

struct source_map {
	VEC(struct source_map_segment) segments; /* ascending */
	struct strbuf texts; /* terminated UTF-8; "" at offset 0 */
	uint32_t only_source; /* offset in `texts`; 0: several files, or none */
	unsigned int users;
};

/*
 * Parses a map. Relative file names start at the folder of `beside`, the path of the map or of the
 * script that contains it. Returns NULL if it is not a map or too large.
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
 * Returns the original name of the function that starts at that position, just after its name,
 * which has `size` units in the generated code; NULL: the same, or unknown.
 */
const char *source_map_function(const struct source_map *map, uint32_t line, uint32_t column,
				size_t size);

/* Appends the path of a file or URL named in the file `beside`. */
void source_map_add_path(struct strbuf *out, const char *beside, const char *name);

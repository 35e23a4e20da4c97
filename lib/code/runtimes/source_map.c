/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/source_map.h"

#include "bpf/live_record.h"
#include "lib/base/quote.h"
#include "lib/base/json/cursor.h"
#include "lib/base/json/writer.h"

#define SEGMENTS_MAX ((size_t)1 << 20)
#define TEXTS_MAX ((size_t)8 << 20) /* maximum bytes of all files and names */

/* A map, or a section of one merged by a bundler. */
struct section {
	struct source_map *map;
	const char *beside;
	uint32_t line, column; /* its start in the generated code, from 0 */
	/* Offsets in the map's strings. */
	VEC(uint32_t) sources, names;
};

/* Removes the last name of a path that ends with '/', but never its root. */
static void leave_folder(struct strbuf *path, size_t root)
{
	size_t size = path->size - 1;

	while (size > root && path->text[size - 1] != '/')
		size--;
	path->size = size > root ? size : root;
}

/* Appends names to an absolute path that ends with '/'. */
static void add_names(struct strbuf *path, size_t root, const char *names)
{
	while (*names) {
		size_t size = strcspn(names, "/");

		if (size == 2 && strncmp(names, "..", 2) == 0)
			leave_folder(path, root);
		else if (size && !(size == 1 && *names == '.'))
			strbuf_add(path, names, size + (names[size] == '/'));
		names += size + (names[size] == '/');
	}
}

static bool is_complete(const char *name)
{
	return *name == '/' || strstr(name, "://");
}

void source_map_add_path(struct strbuf *out, const char *beside, const char *name)
{
	static const char scheme[] = "file://";
	const char *slash = strrchr(beside, '/');
	size_t root = out->size + 1;

	if (text_starts_with(name, scheme))
		name += sizeof(scheme) - 1;
	if (is_complete(name) || *beside != '/') {
		strbuf_adds(out, name);
		return;
	}
	strbuf_add(out, beside, (size_t)(slash - beside) + 1);
	add_names(out, root, name);
	strbuf_add(out, "", 0);
}

/* Adds a string. Returns its offset, 0 if it is empty or too long. */
static uint32_t add_text(struct source_map *map, const struct strbuf *text, size_t max)
{
	uint32_t at = (uint32_t)map->texts.size;
	size_t size = strlen(strbuf_text(text));

	if (!size || size > max || map->texts.size > TEXTS_MAX)
		return 0;
	jsonw_clean(&map->texts, text->text, size);
	strbuf_add(&map->texts, "", 1);
	return at;
}

static void read_sources(struct section *s, struct json_cursor cursor, const char *root)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	_cleanup_(strbuf_release) struct strbuf rooted = {0};
	_cleanup_(strbuf_release) struct strbuf path = {0};

	json_for_each_element_if_any(&cursor, row) {
		strbuf_reset(&name);
		strbuf_reset(&rooted);
		strbuf_reset(&path);
		if (json_cursor_peek(&cursor) == '"')
			json_cursor_string(&cursor, &name);
		if (*root && !is_complete(strbuf_text(&name)))
			strbuf_addf(&rooted, "%s/", root);
		strbuf_adds(&rooted, strbuf_text(&name));
		if (name.size)
			source_map_add_path(&path, s->beside, rooted.text);
		vec_push(&s->sources, add_text(s->map, &path, FUNCTION_FILE_MAX));
	}
}

static void read_names(struct section *s, struct json_cursor cursor)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};

	json_for_each_element_if_any(&cursor, row) {
		strbuf_reset(&name);
		if (json_cursor_peek(&cursor) == '"')
			json_cursor_string(&cursor, &name);
		vec_push(&s->names, add_text(s->map, &name, FUNCTION_NAME_MAX));
	}
}

/* Reads a number of five bits per digit, lowest first; its lowest bit is the sign. */
static bool read_number(const char **at, const char *end, int64_t *value)
{
	uint64_t bits = 0;

	for (unsigned int shift = 0; shift < 35 && *at < end; shift += 5) {
		int digit = base64_digit(*(*at)++);

		if (digit < 0)
			return false;
		bits |= (uint64_t)(digit & 31) << shift;
		if (!(digit & 32)) {
			*value = bits & 1 ? -(int64_t)(bits >> 1) : (int64_t)(bits >> 1);
			return true;
		}
	}
	return false;
}

/*
 * Numbers of a segment; each except the column is relative to its last occurrence in an earlier
 * segment.
 */
enum field {
	COLUMN,
	SOURCE,
	SOURCE_LINE,
	SOURCE_COLUMN,
	NAME,
	FIELDS,
};

/* Reads a segment. Returns the number of its fields, 0 if it is damaged. */
static size_t read_segment(const char **at, const char *end, int64_t *fields)
{
	size_t count = 0;
	int64_t change;

	while (*at < end && **at != ',' && **at != ';') {
		if (count == FIELDS || !read_number(at, end, &change))
			return 0;
		fields[count] += change;
		if (fields[count] < 0 || fields[count] > INT32_MAX)
			return 0;
		count++;
	}
	return count == 1 || count >= NAME ? count : 0;
}

/* Returns whether lookups would be the same without the new segment. */
static bool is_needless(const struct source_map_segment *last, const struct source_map_segment *new)
{
	return last->line == new->line &&
	       (last->column > new->column ||
		(last->source == new->source && last->source_line == new->source_line &&
		 !last->name && !new->name));
}

static bool add_segment(struct section *s, uint32_t line, const int64_t *fields, size_t count)
{
	struct source_map *map = s->map;
	struct source_map_segment new = {
		.line = s->line + line + 1,
		.column = (line ? 0 : s->column) + (uint32_t)fields[COLUMN],
	};
	const struct source_map_segment *last = map->segments.count ? &vec_last(&map->segments)
								    : NULL;

	if (count > 1 && (uint64_t)fields[SOURCE] < s->sources.count)
		new.source = s->sources.items[fields[SOURCE]];
	if (new.source)
		new.source_line = (uint32_t)fields[SOURCE_LINE] + 1;
	if (new.source && count == FIELDS && (uint64_t)fields[NAME] < s->names.count)
		new.name = s->names.items[fields[NAME]];
	if (last && (last->line > new.line || is_needless(last, &new)))
		return true;
	if (map->segments.count >= SEGMENTS_MAX)
		return false;
	vec_push(&map->segments, new);
	return true;
}

/* Decodes the segments: ',' separates segments, ';' lines. */
static bool read_mappings(struct section *s, const char *at, const char *end)
{
	int64_t fields[FIELDS] = {0};
	uint32_t line = 0;
	size_t count;

	while (at < end) {
		if (*at == ';') {
			line++;
			fields[COLUMN] = 0;
		}
		if (*at == ';' || *at == ',') {
			at++;
			continue;
		}
		count = read_segment(&at, end, fields);
		if (!count || line > INT32_MAX || !add_segment(s, line, fields, count))
			return false;
	}
	return true;
}

static bool read_section(struct source_map *map, struct json_cursor cursor, const char *beside,
			 uint32_t line, uint32_t column)
{
	static const char *const members[] = {"sources", "names", "sourceRoot", "mappings", NULL};
	struct section s = {.map = map, .beside = beside, .line = line, .column = column};
	struct span spans[4] = {0};
	_cleanup_free_ char *root = NULL;
	struct json_cursor value;
	bool is_read = false;

	if (json_cursor_find(cursor, members, spans) && spans[3].end) {
		value = json_cursor_within(&cursor, spans[2]);
		root = json_cursor_text(&value);
		read_sources(&s, json_cursor_within(&cursor, spans[0]), root);
		read_names(&s, json_cursor_within(&cursor, spans[1]));
		if (s.sources.count == 1)
			map->only_source = s.sources.items[0];
		is_read = cursor.text[spans[3].start] == '"' &&
			  read_mappings(&s, cursor.text + spans[3].start + 1,
					cursor.text + spans[3].end - 1);
	}
	vec_release(&s.sources);
	vec_release(&s.names);
	return is_read;
}

/* Reads a small number, a member of an object; 0: there is none. */
static uint32_t read_offset(struct json_cursor cursor, const char *name)
{
	int64_t value = 0;

	json_for_each_member_if_any(&cursor, key) {
		if (span_is(&cursor, key, name) && !json_cursor_i64(&cursor, &value))
			return 0;
	}
	return value < 0 || value > INT32_MAX / 2 ? 0 : (uint32_t)value;
}

static bool read_sections(struct source_map *map, struct json_cursor cursor, const char *beside)
{
	static const char *const members[] = {"offset", "map", NULL};

	json_for_each_element_if_any(&cursor, row) {
		struct span whole, spans[2] = {0};
		struct json_cursor offset;

		if (!json_cursor_value(&cursor, &whole) ||
		    !json_cursor_find(json_cursor_within(&cursor, whole), members, spans))
			return false;
		offset = json_cursor_within(&cursor, spans[0]);
		if (!read_section(map, json_cursor_within(&cursor, spans[1]), beside,
				  read_offset(offset, "line"), read_offset(offset, "column")))
			return false;
	}
	map->only_source = 0;
	return !cursor.failed;
}

struct source_map *source_map_parse(const char *json, size_t size, const char *beside)
{
	static const char *const members[] = {"sections", NULL};
	struct source_map *map;
	struct json_cursor cursor;
	struct span sections = {0};
	bool is_read;

	if (size > SOURCE_MAP_MAX)
		return NULL;
	json_cursor_init(&cursor, json, size);
	if (json_cursor_peek(&cursor) != '{' || !json_cursor_find(cursor, members, &sections))
		return NULL;
	map = xcalloc(1, sizeof(*map));
	map->users = 1;
	strbuf_add(&map->texts, "", 1);
	is_read = sections.end ? read_sections(map, json_cursor_within(&cursor, sections), beside)
			       : read_section(map, cursor, beside, 0, 0);
	vec_fit(&map->segments);
	if (!is_read || !map->segments.count) {
		source_map_release(map);
		return NULL;
	}
	return map;
}

struct source_map *source_map_parse_url(const char *url, const char *beside)
{
	static const char scheme[] = "data:", encoding[] = ";base64,";
	_cleanup_free_ unsigned char *json = NULL;
	const char *text = strstr(url, encoding);
	size_t size;

	if (!text_starts_with(url, scheme) || !text)
		return NULL;
	text += sizeof(encoding) - 1;
	size = strlen(text);
	json = xmalloc(size + 1);
	return base64_decode(text, size, json, &size)
		       ? source_map_parse((const char *)json, size, beside)
		       : NULL;
}

struct source_map *source_map_share(struct source_map *map)
{
	if (map)
		map->users++;
	return map;
}

void source_map_release(struct source_map *map)
{
	if (!map || --map->users)
		return;
	vec_release(&map->segments);
	strbuf_release(&map->texts);
	free(map);
}

const struct source_map_segment *source_map_find(const struct source_map *map, uint32_t line,
						 uint32_t column)
{
	size_t end = vec_count_front(&map->segments, it,
				     it->line < line || (it->line == line && it->column <= column));
	const struct source_map_segment *last = end ? &map->segments.items[end - 1] : NULL;

	return last && last->line == line ? last : NULL;
}

/* Maximum characters between the name of a function and its parameters: "leaf = async (". */
#define NAME_GAP_MAX 9

const char *source_map_function(const struct source_map *map, uint32_t line, uint32_t column,
				size_t size)
{
	const struct source_map_segment *segment = source_map_find(map, line, column);

	/* Parameters may have a separate segment. */
	if (segment && segment->column == column && column)
		segment = source_map_find(map, line, column - 1);
	if (!segment || !segment->name || segment->column + size > column ||
	    column - segment->column - size > NAME_GAP_MAX)
		return NULL;
	return map->texts.text + segment->name;
}

/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/runtime.h"

#include "lib/base/bytes.h"
#include "lib/base/json/writer.h"
#include "lib/code/runtimes/go.h"

/* Converts positions in a text to lines. */

/* Line terminators of JavaScript, besides \n and \r. */
#define LINE_SEPARATOR 0x2028
#define PARAGRAPH_SEPARATOR 0x2029

void line_starts_release(struct line_starts *lines)
{
	vec_release(&lines->rows);
	strbuf_release(&lines->map);
	*lines = (struct line_starts){0};
}

/* Returns true if a comment can begin with "//" or "/" "*" followed by this. */
static bool begins_comment(uint32_t c)
{
	return c == '#' || c == '@';
}

/* Searches for the comment with the URL of a map. The last one counts. */
static void match_map_comment(struct line_starts *lines, uint32_t c)
{
	static const char begin[] = "# sourceMappingURL=";
	const uint32_t all = sizeof(begin) - 1;

	if (lines->matched == all) {
		if (c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '`') {
			strbuf_addch(&lines->map, (char)c);
			return;
		}
		/* This is code that writes such comments. */
		if (c > ' ')
			strbuf_reset(&lines->map);
		lines->matched = 0;
	}
	if (lines->matched ? c == (uint8_t)begin[lines->matched] : begins_comment(c))
		lines->matched++;
	else
		lines->matched = begins_comment(c);
	if (lines->matched == all)
		strbuf_reset(&lines->map);
}

static void add_character(struct line_starts *lines, uint32_t c)
{
	size_t count = lines->rows.count;

	if (lines->length >= INT32_MAX)
		return;
	lines->length++;
	match_map_comment(lines, c);
	if (c == '\n' && lines->after_return && count)
		lines->rows.items[count - 1] = lines->length; /* \r\n is one terminator */
	else if (c == '\n' || c == '\r' || c == LINE_SEPARATOR || c == PARAGRAPH_SEPARATOR)
		vec_push(&lines->rows, lines->length);
	lines->after_return = c == '\r';
}

/* Adds characters of a byte each, up to one that matters. Returns their number. */
static size_t add_plain(struct line_starts *lines, const uint8_t *text, size_t size)
{
	size_t count = 0;

	if (lines->matched || lines->after_return || lines->length >= INT32_MAX - (int64_t)size)
		return 0;
	while (count < size && text[count] != '\n' && text[count] != '\r' &&
	       !begins_comment(text[count]))
		count++;
	lines->length += count;
	return count;
}

void line_starts_add(struct line_starts *lines, unsigned int width, const void *text, size_t size)
{
	struct bytes b;

	if (width != 1 && width != 2)
		return;
	bytes_init(&b, text, size);
	while (bytes_left(&b) >= width) {
		if (width == 1)
			bytes_skip(&b, add_plain(lines, b.at, bytes_left(&b)));
		if (bytes_left(&b) >= width)
			add_character(lines, width == 1 ? bytes_u8(&b) : bytes_u16(&b));
	}
}

bool line_starts_add_utf8(struct line_starts *lines, const char *text, size_t size)
{
	for (size_t at = 0, length; at < size; at += length) {
		const uint8_t *c = (const uint8_t *)text + at;

		length = text_utf8_length(text + at, size - at);
		if (!length)
			return false;
		/* No other three-byte character ends a line. */
		if (length == 3 && c[0] == 0xe2 && c[1] == 0x80 && (c[2] | 1) == 0xa9)
			add_character(lines, LINE_SEPARATOR);
		else
			add_character(lines, *c);
		/* A pair of surrogates. */
		if (length == 4)
			add_character(lines, *c);
	}
	return true;
}

/* Returns the line from 1; 0 if the position is outside of the text. */
static uint32_t line_of(const struct line_starts *lines, int64_t place)
{
	if (place < 0 || place > lines->length)
		return 0;
	return 1 + (uint32_t)count_front(lines->rows.items, lines->rows.count, it, *it <= place);
}

static uint32_t column_of(const struct line_starts *lines, uint32_t line, int32_t place)
{
	return (uint32_t)place - (line > 1 ? lines->rows.items[line - 2] : 0);
}

static const struct source_map_segment *find_segment(const struct source_map *map,
						     const struct line_starts *lines, int32_t place)
{
	uint32_t line = map ? line_of(lines, place) : 0;

	return line ? source_map_find(map, line, column_of(lines, line, place)) : NULL;
}

/*
 * Text that contains the positions: the running text or, with a source, one of the files from which
 * it was made.
 */
struct written {
	const struct line_starts *lines;
	const struct source_map *map;
	uint32_t source; /* as in source_map_segment */
};

static struct written find_written(const struct line_starts *lines, const struct source_map *map,
				   int32_t start)
{
	const struct source_map_segment *segment = find_segment(map, lines, start);
	struct written written = {lines, map, 0};

	if (segment && segment->source)
		written.source = segment->source;
	else if (map)
		written.source = map->only_source;
	return written;
}

static uint32_t written_line(const struct written *w, int32_t place)
{
	const struct source_map_segment *segment;

	if (!w->source)
		return line_of(w->lines, place);
	segment = find_segment(w->map, w->lines, place);
	if (segment && segment->source == w->source)
		return segment->source_line;
	/* The text itself begins with its first line. */
	return !place;
}

/* Replaces the name and the file by the original ones. */
static void set_written(const struct written *w, int32_t start, struct strbuf *name,
			struct strbuf *file)
{
	uint32_t line = line_of(w->lines, start);
	const char *own;

	if (!w->source)
		return;
	strbuf_reset(file);
	strbuf_adds(file, w->map->texts.text + w->source);
	own = line ? source_map_function(w->map, line, column_of(w->lines, line, start), name->size)
		   : NULL;
	if (!own)
		return;
	strbuf_reset(name);
	strbuf_adds(name, own);
}

bool runtime_read_head(const struct rec_function *function, void *head, size_t size)
{
	if (function->lines.size < size)
		return false;
	memcpy(head, function->body + function->name.size + function->file.size, size);
	return true;
}

void runtime_add_line(struct managed_code *code, uint32_t unit, int64_t line)
{
	uint32_t valid = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;

	if (!code->lines.count || vec_last(&code->lines).line != valid)
		vec_push(&code->lines, ((struct managed_line){unit, valid, 0}));
}

void runtime_set_lines(struct managed_code *code, uint32_t function,
		       const struct line_starts *lines, const struct source_map *map)
{
	struct managed_function *inlined = function ? &code->inlined.items[function - 1] : NULL;
	int32_t start = inlined ? inlined->start : code->start;
	struct written written = find_written(lines, map, start);
	uint32_t first_line = written_line(&written, start);

	if (inlined)
		inlined->first_line = first_line;
	else
		code->first_line = first_line;
	vec_for_each(&code->places, struct managed_place *, it) {
		if (it->function == function)
			it->line = written_line(&written, it->place);
	}
	set_written(&written, start, inlined ? &inlined->name : &code->name,
		    inlined ? &inlined->file : &code->file);
}

/* Returns the end of the chain that begins at row `first`. */
static size_t chain_end(const struct managed_code *code, size_t first)
{
	size_t end = first + 1;

	while (end < code->places.count && code->places.items[end].function)
		end++;
	return end;
}

/* Returns whether lines[first, end) describe these calls. */
static bool is_same_chain(const struct managed_code *code, size_t first, size_t end,
			  const struct managed_place *places, size_t count)
{
	if (end - first != count)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct managed_line *line = &code->lines.items[first + i];

		if (line->function != places[i].function || line->line != places[i].line)
			return false;
	}
	return true;
}

void runtime_make_lines(struct managed_code *code)
{
	size_t last = 0; /* first line of the last chain */

	vec_clear(&code->lines);
	for (size_t first = 0, end; first < code->places.count; first = end) {
		const struct managed_place *places = &code->places.items[first];

		end = chain_end(code, first);
		if (is_same_chain(code, last, code->lines.count, places, end - first))
			continue;
		if (code->lines.count && code->lines.items[last].unit == places->unit)
			code->lines.count = last;
		last = code->lines.count;
		for (size_t i = 0; i < end - first; i++)
			vec_push(&code->lines, ((struct managed_line){places->unit, places[i].line,
								      places[i].function}));
	}
}

#define ROWS_MAX 16384

void known_functions_release(struct known_functions *k)
{
	vec_for_each(&k->rows, struct known_function *, row)
		managed_function_release(&row->function);
	vec_release(&k->rows);
	index_release(&k->index);
}

static uint64_t hash_key(const struct function_key *key)
{
	return hash_pair(hash_pair((uint64_t)key->pid << 32 | key->tid, key->source.object),
			 (uint64_t)key->source.id << 32 | key->number);
}

static bool is_equal(const void *table, uint32_t id, const void *key)
{
	const struct known_functions *k = table;
	const struct function_key *left = &k->rows.items[id].key, *right = key;

	return left->pid == right->pid && left->tid == right->tid &&
	       left->source.object == right->source.object && left->source.id == right->source.id &&
	       left->number == right->number;
}

const struct managed_function *known_functions_find(const struct known_functions *k,
						    const struct function_key *key)
{
	uint32_t id = index_find(&k->index, hash_key(key), is_equal, k, key);

	return id == INDEX_NONE ? NULL : &k->rows.items[id].function;
}

void known_functions_add(struct known_functions *k, const struct function_key *key,
			 const struct managed_function *function)
{
	struct known_function row = {.key = *key};

	if (k->rows.count >= ROWS_MAX)
		known_functions_release(k);
	managed_function_copy(&row.function, function);
	index_add(&k->index, hash_key(key), (uint32_t)k->rows.count);
	vec_push(&k->rows, row);
}

const struct runtime *const runtimes[RUNTIME_KIND_COUNT] = {
#define RUNTIME(KIND, name, ...) [RUNTIME_##KIND] = &runtime_##name,
#include "bpf/runtimes.def"
};

void managed_function_release(struct managed_function *function)
{
	strbuf_release(&function->name);
	strbuf_release(&function->file);
	*function = (struct managed_function){0};
}

void managed_function_copy(struct managed_function *to, const struct managed_function *from)
{
	*to = *from;
	to->name = to->file = (struct strbuf){0};
	strbuf_add(&to->name, strbuf_text(&from->name), from->name.size);
	strbuf_add(&to->file, strbuf_text(&from->file), from->file.size);
}

void managed_text_add(struct strbuf *to, const char *data, size_t size)
{
	jsonw_clean(to, data, strnlen(data, size));
}

void managed_code_release(struct managed_code *code)
{
	vec_for_each(&code->inlined, struct managed_function *, function)
		managed_function_release(function);
	vec_release(&code->inlined);
	strbuf_release(&code->name);
	strbuf_release(&code->file);
	vec_release(&code->lines);
	vec_release(&code->places);
	*code = (struct managed_code){0};
}

int runtime_probe(int fd, struct runtime_layout *layout, struct error *err)
{
	struct binary *b = NULL;
	int result = 0;

	*layout = (struct runtime_layout){0};
	/* Only ELF files contain a runtime. */
	if (binary_open(&b, fd, NULL) != 0)
		return 0;
	for (size_t i = 0; i < RUNTIME_KIND_COUNT && result == 0 && !layout->kind; i++) {
		if (runtimes[i] && runtimes[i]->probe)
			result = runtimes[i]->probe(b, layout, err);
	}
	binary_free(b);
	if (result != 0)
		*layout = (struct runtime_layout){0};
	return result;
}

int runtime_probe_with_go(int fd, struct runtime_layout *layout, struct error *err)
{
	int result = runtime_probe(fd, layout, err);

	if (result == 0 && !layout->kind)
		result = go_probe(fd, layout, err);
	return result;
}

/* More words of a stack than any shim saves. */
#define SHIM_WORDS_MAX 64

bool runtime_layout_is_sane(const struct runtime_layout *layout)
{
	const struct runtime *runtime = layout->kind < RUNTIME_KIND_COUNT ? runtimes[layout->kind]
									  : NULL;

	return runtime && layout->shim_words <= SHIM_WORDS_MAX && runtime->is_sane(layout);
}

void runtime_write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	const struct runtime *runtime = runtimes[layout->kind];
	uint16_t version;

	if (runtime->version) {
		runtime->version(layout, text, size);
		return;
	}
	memcpy(&version, (const char *)layout + runtime->version_at, sizeof(version));
	snprintf(text, size, "%u.%u", version >> 8, version & 255u);
}

/* SPDX-License-Identifier: MIT */
#include "lib/stream/text/tracepoint_format.h"

#define FIELD_PREFIX "field:"
#define LINE_MAX_SIZE 512

/* Finds "offset:8" among the parts of a line, which are separated by ';'. */
static bool read_number(const char *line, const char *key, uint32_t *number)
{
	const char *at = strstr(line, key);
	char digits[12];
	uint64_t value;
	size_t size;

	if (!at)
		return false;
	at += strlen(key);
	size = strspn(at, "0123456789");
	if (!size || size >= sizeof(digits))
		return false;
	memcpy(digits, at, size);
	digits[size] = '\0';
	if (!text_to_u64(digits, 10, &value) || value > UINT32_MAX)
		return false;
	*number = (uint32_t)value;
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *end, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = text; at + size <= end; at++) {
		if (memcmp(at, word, size) == 0 && (at == text || !is_word(at[-1])) &&
		    (at + size == end || !is_word(at[size])))
			return true;
	}
	return false;
}

/* Sets the key to the last word before `end`, and moves `end` to the word's start. */
static bool take_name(const char *declaration, const char **end, char key[TRACEPOINT_KEY_SIZE])
{
	const char *stop = *end, *start;

	while (stop > declaration && !is_word(stop[-1]))
		stop--;
	start = stop;
	while (start > declaration && is_word(start[-1]))
		start--;
	if (start == stop || (size_t)(stop - start) >= TRACEPOINT_KEY_SIZE - 1 ||
	    isdigit((unsigned char)*start))
		return false;
	memcpy(key, start, (size_t)(stop - start));
	key[stop - start] = '\0';
	/* Markers use these keys for something else. */
	if (strcmp(key, "type") == 0 || strcmp(key, "cause") == 0)
		strcat(key, "_");
	*end = start;
	return true;
}

/* Parses a declaration: "__data_loc char[] name", "char comm[16]", "pid_t pid". */
static bool read_declaration(const char *text, const char *end, struct tracepoint_field *field)
{
	const char *bracket = end;
	bool is_dynamic = has_word(text, end, "__data_loc"),
	     is_array = end > text && end[-1] == ']';

	if (is_array) {
		while (bracket > text && *bracket != '[')
			bracket--;
	}
	if (!take_name(text, &bracket, field->key))
		return false;
	end = bracket;
	if (memchr(text, '*', (size_t)(end - text)) || has_word(text, end, "__rel_loc"))
		return false;
	if (is_dynamic || is_array) {
		field->kind = is_dynamic ? TRACEPOINT_DYNAMIC_TEXT : TRACEPOINT_TEXT;
		return has_word(text, end, "char") && !has_word(text, end, "unsigned");
	}
	field->kind = TRACEPOINT_INTEGER;
	return true;
}

static bool is_recorded(const struct tracepoint_format *f, const struct tracepoint_field *field)
{
	if (f->count == TRACEPOINT_FIELDS_MAX || field->offset > TRACEPOINT_BYTES_MAX ||
	    !field->size || field->size > TRACEPOINT_BYTES_MAX - field->offset)
		return false;
	if (field->kind == TRACEPOINT_DYNAMIC_TEXT)
		return field->size == 4 && f->layout.dynamic_count < TRACEPOINT_DYNAMIC_MAX;
	return field->kind == TRACEPOINT_TEXT || field->size == 1 || field->size == 2 ||
	       field->size == 4 || field->size == 8;
}

static bool has_key(const struct tracepoint_format *f, const char *key)
{
	for (uint32_t i = 0; i < f->count; i++) {
		if (strcmp(f->fields[i].key, key) == 0)
			return true;
	}
	return false;
}

static void add_field(struct tracepoint_format *f, const struct tracepoint_field *field)
{
	uint32_t end = field->offset + field->size;

	if (field->kind == TRACEPOINT_DYNAMIC_TEXT)
		f->layout.dynamic[f->layout.dynamic_count++] = field->offset;
	f->layout.size = MAX(f->layout.size, end);
	f->fields[f->count++] = *field;
}

/* Parses "field:int common_pid;	offset:4;	size:4;	signed:1;". Returns false for other
 * lines. */
static bool read_line(struct tracepoint_format *f, const char *line)
{
	struct tracepoint_field field = {0};
	const char *start, *end;
	uint32_t is_signed = 0;

	line += strspn(line, " \t");
	if (!text_starts_with(line, FIELD_PREFIX))
		return false;
	start = line + strlen(FIELD_PREFIX);
	end = strchr(start, ';');
	if (!end || !read_number(end, "offset:", &field.offset) ||
	    !read_number(end, "size:", &field.size))
		return false;
	if (read_number(end, "signed:", &is_signed))
		field.is_signed = is_signed;
	if (read_declaration(start, end, &field) && !text_starts_with(field.key, "common_") &&
	    !has_key(f, field.key) && is_recorded(f, &field))
		add_field(f, &field);
	return true;
}

int tracepoint_format_parse(struct tracepoint_format *f, const char *name, const char *text,
			    size_t size, struct error *err)
{
	const char *end = text + size;
	bool is_format = false;

	*f = (struct tracepoint_format){0};
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		char line[LINE_MAX_SIZE];

		if (length < sizeof(line)) {
			memcpy(line, text, length);
			line[length] = '\0';
			is_format |= read_line(f, line);
		}
		text += length + 1;
	}
	if (!is_format)
		return error_text(err, -EBADMSG,
				  "--event %s: cannot parse the kernel's description of its fields",
				  name);
	return 0;
}

static int64_t read_integer(const struct tracepoint_field *field, const uint8_t *bytes)
{
	uint64_t value = 0;

	memcpy(&value, bytes + field->offset, field->size);
	if (field->is_signed && field->size < 8 && value >> (8 * field->size - 1) & 1)
		value |= ~0ull << (8 * field->size);
	return (int64_t)value;
}

bool tracepoint_field_read(const struct tracepoint_field *field, const void *bytes, size_t size,
			   struct tracepoint_value *value)
{
	size_t offset = field->offset, length = field->size;
	uint32_t place;

	*value = (struct tracepoint_value){0};
	if (field->offset > size || field->size > size - field->offset)
		return false;
	if (field->kind == TRACEPOINT_INTEGER) {
		value->number = read_integer(field, bytes);
		return true;
	}
	if (field->kind == TRACEPOINT_DYNAMIC_TEXT) {
		memcpy(&place, (const uint8_t *)bytes + offset, sizeof(place));
		offset = place & 0xffff;
		length = place >> 16;
		if (offset > size || length > size - offset)
			return false;
	}
	value->text = (const char *)bytes + offset;
	value->size = strnlen(value->text, length);
	return true;
}

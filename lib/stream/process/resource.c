/* SPDX-License-Identifier: MIT */
#include "lib/stream/process/resource.h"

#include "bpf/record.h"
#include "lib/base/protobuf.h"
#include "lib/base/quote.h"

/*
 * Arguments of an interpreter that may precede the script: its own name, and one from the script's
 * first line.
 */
#define SCRIPT_AFTER 2

/*
 * True if the name is the program's, or a title that begins with it. "python3" is a link to
 * "python3.11".
 */
static bool is_of_program(const char *name, const char *program)
{
	return text_starts_with(program, name) ||
	       (text_starts_with(name, program) && name[strlen(program)] == ':');
}

/* True if the name is the first argument, as a title, a path, or "-bash" of a login shell. */
static bool is_first_argument(const char *name, const char *argument)
{
	return text_starts_with(argument, name) ||
	       text_starts_with(basename(argument + (*argument == '-')), name);
}

/* An exec of a script names the process after it, not after the interpreter. */
static bool is_script(const char *name, const char *argument)
{
	return strncmp(basename(argument), name, REC_NAME_SIZE - 1) == 0;
}

bool process_name_fits(const char *name, const char *program, const char *arguments, size_t size)
{
	const char *end = arguments + size;

	if (!*program || is_of_program(name, program))
		return true;
	for (unsigned int i = 0; i <= SCRIPT_AFTER && arguments < end; i++) {
		if (i ? is_script(name, arguments) : is_first_argument(name, arguments))
			return true;
		arguments += strlen(arguments) + 1;
	}
	return false;
}

#define KEY_MAX 64
#define SERVICE_VARIABLE "OTEL_SERVICE_NAME="
#define ATTRIBUTES_VARIABLE "OTEL_RESOURCE_ATTRIBUTES="

void resource_release(struct resource *r)
{
	vec_for_each(&r->rows, struct resource_attribute *, row) {
		free(row->key);
		free(row->value);
	}
	vec_release(&r->rows);
}

static bool may_leave(const char *key)
{
	static const char *const prefixes[] = {"service.", "deployment.", "k8s."};

	if (strlen(key) > KEY_MAX)
		return false;
	for (const char *at = key; *at; at++) {
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			return false;
	}
	return array_find(prefixes, it, text_starts_with(key, *it) && key[strlen(*it)]);
}

/* Truncates a value at a character boundary. */
static void bound(char *value)
{
	size_t size = 0, length;

	while (value[size]) {
		length = text_utf8_length(value + size, strlen(value + size));
		length = length ? length : 1;
		if (size + length > RESOURCE_VALUE_MAX)
			break;
		size += length;
	}
	value[size] = '\0';
	text_to_line(value);
}

/* Takes ownership of both strings. */
static void add(struct resource *r, char *key, char *value)
{
	size_t at = 0;

	bound(value);
	while (at < r->rows.count && strcmp(r->rows.items[at].key, key) < 0)
		at++;
	if (*value && at < r->rows.count && strcmp(r->rows.items[at].key, key) == 0) {
		free(key);
		free(r->rows.items[at].value);
		r->rows.items[at].value = value;
		return;
	}
	if (!*value || !may_leave(key) || r->rows.count == RESOURCE_ATTRIBUTES_MAX) {
		free(key);
		free(value);
		return;
	}
	vec_push(&r->rows, (struct resource_attribute){0});
	memmove(&r->rows.items[at + 1], &r->rows.items[at],
		(r->rows.count - 1 - at) * sizeof(*r->rows.items));
	r->rows.items[at] = (struct resource_attribute){key, value};
}

/* Parses the text; adds its attributes unless `r` is NULL. */
static bool parse(struct resource *r, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;
		const char *equal = memchr(text, '=', (size_t)(stop - text));
		_cleanup_free_ char *key = NULL, *value = NULL;

		if (equal) {
			key = unquote_url_trimmed(text, (size_t)(equal - text));
			value = unquote_url_trimmed(equal + 1, (size_t)(stop - equal - 1));
		}
		/* A trailing comma is common. */
		if ((!key || !*key || !value) && stop > text)
			return false;
		if (r && key && value)
			add(r, steal(key), steal(value));
		text = comma ? comma + 1 : end;
	}
	return true;
}

bool resource_parse(struct resource *r, const char *text, size_t size)
{
	return parse(NULL, text, size) && parse(r, text, size);
}

void resource_parse_environment(struct resource *r, const char *text, size_t size)
{
	const char *end = text + size, *service = NULL, *attributes = NULL;

	for (const char *next; text < end; text = next + 1) {
		next = memchr(text, '\0', (size_t)(end - text));
		if (!next)
			break;
		/* The first of two variables wins, as for getenv(). */
		if (!service && text_starts_with(text, SERVICE_VARIABLE))
			service = text + strlen(SERVICE_VARIABLE);
		else if (!attributes && text_starts_with(text, ATTRIBUTES_VARIABLE))
			attributes = text + strlen(ATTRIBUTES_VARIABLE);
	}
	/*
	 * Add the service twice: first so that it is among the attributes kept, last so that it
	 * wins.
	 */
	if (service && *service)
		add(r, xstrdup(RESOURCE_SERVICE_NAME), xstrdup(service));
	if (!attributes)
		return;
	resource_parse(r, attributes, strlen(attributes));
	if (service && *service)
		add(r, xstrdup(RESOURCE_SERVICE_NAME), xstrdup(service));
}

/* Fields of OpenTelemetry's messages. */
enum { CONTEXT_RESOURCE = 1, CONTEXT_ATTRIBUTES };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { PAIR_KEY = 1, PAIR_VALUE };
enum { VALUE_STRING = 1 };

static void copy_text(char **to, const struct protobuf_cursor *from)
{
	free(*to);
	*to = protobuf_text(from);
}

static void add_pair(struct resource *r, struct protobuf_cursor s)
{
	_cleanup_free_ char *key = NULL, *value = NULL;
	struct protobuf_field field, part;

	while (protobuf_next(&s, &field)) {
		if (field.number == PAIR_KEY && field.is_bytes)
			copy_text(&key, &field.bytes);
		while (field.number == PAIR_VALUE && field.is_bytes &&
		       protobuf_next(&field.bytes, &part)) {
			if (part.number == VALUE_STRING && part.is_bytes)
				copy_text(&value, &part.bytes);
		}
	}
	if (key && value)
		add(r, steal(key), steal(value));
}

void resource_parse_context(struct resource *r, const void *data, size_t size)
{
	struct protobuf_cursor s = protobuf_cursor_of(data, size);
	struct protobuf_field field, part;

	while (protobuf_next(&s, &field)) {
		if (!field.is_bytes)
			continue;
		if (field.number == CONTEXT_ATTRIBUTES)
			add_pair(r, field.bytes);
		while (field.number == CONTEXT_RESOURCE && protobuf_next(&field.bytes, &part)) {
			if (part.number == RESOURCE_ATTRIBUTES && part.is_bytes)
				add_pair(r, part.bytes);
		}
	}
}

void resource_add_all(struct resource *r, const struct resource *more)
{
	vec_for_each(&more->rows, const struct resource_attribute *, row)
		add(r, xstrdup(row->key), xstrdup(row->value));
}

void resource_write(const struct resource *r, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf pair = {0};

	vec_for_each(&r->rows, const struct resource_attribute *, row) {
		strbuf_reset(&pair);
		strbuf_addf(&pair, "%s%s=", out->size ? "," : "", row->key);
		quote_url(&pair, row->value);
		if (out->size + pair.size <= RESOURCE_TEXT_MAX)
			strbuf_add(out, pair.text, pair.size);
	}
}

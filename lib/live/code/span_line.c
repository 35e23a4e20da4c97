/* SPDX-License-Identifier: MIT */
#include "lib/live/code/span_line.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/text.h"

static bool take_space(const char **at, const char *end)
{
	if (*at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		++*at;
	return true;
}

static bool take_time(const char **at, const char *end, uint64_t *time)
{
	return text_scan_decimal(at, end, time) && (*at == end || **at == ' ');
}

static bool take_id(const char **at, const char *end, struct span_text *id)
{
	id->at = *at;
	while (*at < end && **at != ' ')
		++*at;
	id->size = (size_t)(*at - id->at);
	return id->size && id->size <= SPAN_TEXT_MAX;
}

static struct span_text text_until(const char *at, const char *end)
{
	struct span_text text = {at, (size_t)(end - at)};

	if (text.size > SPAN_TEXT_MAX)
		text.size = SPAN_TEXT_MAX;
	return text;
}

static size_t key_size(const char *word, const char *end)
{
	const char *at = word;

	if (at == end || isdigit((unsigned char)*at))
		return 0;
	while (at < end && (isalnum((unsigned char)*at) || *at == '_'))
		at++;
	return at < end && *at == '=' && at - word <= SPAN_KEY_MAX ? (size_t)(at - word) : 0;
}

/* False: the word is no addition, so it belongs to the name. */
static bool take_addition(struct span_line *out, const char *word, const char *end)
{
	const char *at = word + 1;
	uint64_t tid;
	size_t size;

	if (*word == '@') {
		if (!text_scan_decimal(&at, end, &tid) || at != end || !tid || tid > INT32_MAX)
			return false;
		out->tid = (uint32_t)tid;
		return true;
	}
	if (*word == '#') {
		out->category = text_until(at, end);
		return at < end;
	}
	size = key_size(word, end);
	if (!size || out->attribute_count == SPAN_ATTRIBUTES_MAX)
		return false;
	out->attributes[out->attribute_count++] = (struct span_attribute){
		.key = {word, size},
		.value = text_until(word + size + 1, end),
	};
	return true;
}

/* Takes words from the end of [at, end) as long as they are additions. Returns the new end. */
static const char *take_additions(struct span_line *out, const char *at, const char *end)
{
	for (;;) {
		const char *word;

		while (end > at && end[-1] == ' ')
			end--;
		word = end;
		while (word > at && word[-1] != ' ')
			word--;
		if (word == end || !take_addition(out, word, end))
			break;
		end = word;
	}
	for (size_t i = 0; i < out->attribute_count / 2; i++) {
		struct span_attribute *other = &out->attributes[out->attribute_count - 1 - i];
		struct span_attribute swap = out->attributes[i];

		out->attributes[i] = *other;
		*other = swap;
	}
	return end;
}

static bool parse_prefixed(const char *at, const char *end, struct span_line *out)
{
	if (!take_space(&at, end) || !take_time(&at, end, &out->start))
		return false;
	out->end = out->start;
	if (out->kind != SPAN_INSTANT && (!take_space(&at, end) || !take_id(&at, end, &out->id)))
		return false;
	take_space(&at, end);
	end = take_additions(out, at, end);
	out->name = text_until(at, end);
	return out->kind == SPAN_END ? !out->name.size : out->name.size;
}

bool span_line_parse(const char *line, size_t size, struct span_line *out)
{
	const char *at = line, *end = line + size;

	*out = (struct span_line){.kind = SPAN_WHOLE};
	if (memchr(line, 0, size))
		return false;
	if (end > at && end[-1] == '\r')
		end--;
	if (at < end && *at == 'i')
		out->kind = SPAN_INSTANT;
	else if (at < end && *at == 'b')
		out->kind = SPAN_BEGIN;
	else if (at < end && *at == 'e')
		out->kind = SPAN_END;
	if (out->kind != SPAN_WHOLE)
		return parse_prefixed(at + 1, end, out);
	if (!take_time(&at, end, &out->start) || !take_space(&at, end) ||
	    !take_time(&at, end, &out->end) || !take_space(&at, end))
		return false;
	out->name = text_until(at, end);
	return out->name.size && out->end >= out->start;
}

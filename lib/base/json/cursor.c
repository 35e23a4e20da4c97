/* SPDX-License-Identifier: MIT */
#include "lib/base/json/cursor.h"

#include <math.h>

void json_cursor_init(struct json_cursor *s, const char *text, size_t size)
{
	*s = (struct json_cursor){.text = text, .size = size};
}

struct json_cursor json_cursor_within(const struct json_cursor *s, struct span span)
{
	return (struct json_cursor){
		.text = s->text, .at = span.start, .size = span.end, .ends = s->ends};
}

#define DECIMAL_MAX 9000000000000ull
#define DECIMAL_TEXT_MAX 64

/* Parses a valid number of `size` bytes. Returns false if it is too long or too large. */
static bool decimal_parse_scientific(const char *text, size_t size, struct decimal *value)
{
	char terminated[DECIMAL_TEXT_MAX];
	double number, whole, rest;

	if (size >= sizeof(terminated))
		return false;
	memcpy(terminated, text, size);
	terminated[size] = '\0';
	number = strtod(terminated, NULL);
	if (!(fabs(number) < (double)DECIMAL_MAX))
		return false;
	rest = modf(number * 1e6, &whole);
	value->millionths = (int64_t)whole;
	value->thousandths = (int32_t)(rest * 1000);
	return true;
}

/* Parses digits after a point, to nine decimal places. Returns the position after them. */
static const char *parse_fraction(const char *at, const char *end, uint64_t *fraction)
{
	static const uint32_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
					 10000,	     1000,	100,	  10,	   1};
	size_t count = 0;

	for (; at < end && decimal_is_digit(*at); at++) {
		if (count == 9)
			continue;
		*fraction = *fraction * 10 + (uint64_t)(*at - '0');
		count++;
	}
	*fraction *= units[count];
	return at;
}

/*
 * Parses a number without sign and exponent. Returns the position after it, or NULL if there is no
 * such number or it is 9e12 or more.
 */
static const char *decimal_parse_plain(const char *at, const char *end, struct decimal *value)
{
	const char *first = at;
	uint64_t whole = 0, fraction = 0;

	for (; at < end && decimal_is_digit(*at); at++) {
		whole = whole * 10 + (uint64_t)(*at - '0');
		if (whole >= DECIMAL_MAX)
			return NULL;
	}
	if (at == first || (at - first > 1 && *first == '0'))
		return NULL;
	if (at < end && *at == '.') {
		first = at + 1;
		at = parse_fraction(first, end, &fraction);
		if (at == first)
			return NULL;
	}
	if (at < end && (*at | 0x20) == 'e')
		return NULL;
	value->millionths = (int64_t)(whole * 1000000 + fraction / 1000);
	value->thousandths = (int32_t)(fraction % 1000);
	return at;
}

static bool fail(struct json_cursor *s)
{
	s->failed = true;
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static char skip_space(struct json_cursor *s)
{
	while (s->at < s->size && !s->failed && is_space(s->text[s->at]))
		s->at++;
	return s->at < s->size && !s->failed ? s->text[s->at] : '\0';
}

/* Most files have no space between values. */
static inline char peek(struct json_cursor *s)
{
	if (s->at < s->size && s->text[s->at] > ' ' && !s->failed)
		return s->text[s->at];
	return skip_space(s);
}

char json_cursor_peek(struct json_cursor *s)
{
	return peek(s);
}

static bool take(struct json_cursor *s, char c)
{
	if (peek(s) != c)
		return fail(s);
	s->at++;
	return true;
}

/*
 * Moves to the next item of a list in these brackets: after the opening bracket or a comma. Skips
 * the previous item if the caller has not consumed it: no value ends with one of `begins`.
 */
static bool enter(struct json_cursor *s, bool is_first, char open, char close, const char *begins)
{
	size_t before = s->at;

	if (is_first) {
		if (!take(s, open))
			return false;
		if (s->depth++ >= JSON_CURSOR_DEPTH_MAX)
			return fail(s);
	} else {
		while (is_space(s->text[before - 1]))
			before--;
		if (s->text[before - 1] == begins[0] || s->text[before - 1] == begins[1])
			json_cursor_skip(s);
	}
	if (peek(s) == close) {
		s->at++;
		s->depth--;
		return false;
	}
	return is_first ? !s->failed : take(s, ',');
}

/*
 * True for a character that may follow a backslash. json_cursor_string() checks the digits of \u.
 */
static bool is_escape(const struct json_cursor *s)
{
	char c = s->at + 1 < s->size ? s->text[s->at + 1] : '\0';

	return c && strchr("\"\\/bfnrtu", c);
}

/* Moves past the closing quote. */
static bool skip_string(struct json_cursor *s, struct span *inside)
{
	if (!take(s, '"'))
		return false;
	inside->start = s->at;
	while (s->at < s->size) {
		unsigned char c = (unsigned char)s->text[s->at];

		if (c == '"') {
			inside->end = s->at++;
			return true;
		}
		if (c < 0x20 || (c == '\\' && !is_escape(s)))
			break;
		s->at += c == '\\' ? 2 : 1;
	}
	return fail(s);
}

bool json_cursor_member(struct json_cursor *s, struct span *key)
{
	return enter(s, !key->end, '{', '}', ":") && skip_string(s, key) && take(s, ':');
}

bool json_cursor_element(struct json_cursor *s, size_t row)
{
	if (!enter(s, !row, '[', ']', "[,"))
		return false;
	/* "[1,]": a value must follow the comma. */
	return peek(s) == ']' ? fail(s) : true;
}

static const char *find_no_digit(const char *at, const char *end)
{
	while (at < end && decimal_is_digit(*at))
		at++;
	return at;
}

/* Returns the place after the digits at `at`, NULL if none. */
static const char *skip_digits(const char *at, const char *end)
{
	const char *behind = find_no_digit(at, end);

	return behind == at ? NULL : behind;
}

/* Returns the place after the number at `at`, NULL if none. */
static const char *skip_number(const char *at, const char *end)
{
	const char *first = at + (at < end && *at == '-');

	at = skip_digits(first, end);
	if (!at || (at - first > 1 && *first == '0'))
		return NULL;
	if (at < end && *at == '.') {
		at = skip_digits(at + 1, end);
		if (!at)
			return NULL;
	}
	if (at == end || (*at | 0x20) != 'e')
		return at;
	at++;
	return skip_digits(at + (at < end && (*at == '+' || *at == '-')), end);
}

static bool take_number(struct json_cursor *s)
{
	const char *behind = skip_number(s->text + s->at, s->text + s->size);

	if (!behind)
		return fail(s);
	s->at = (size_t)(behind - s->text);
	return true;
}

/* Skips numbers separated by nothing but commas, up to the last. */
static void skip_numbers(struct json_cursor *s)
{
	const char *at = s->text + s->at, *end = s->text + s->size, *behind = at;

	while (behind < end && (decimal_is_digit(*behind) || *behind == '-')) {
		at = behind;
		behind = skip_number(at, end);
		if (!behind || behind == end || *behind++ != ',')
			break;
	}
	s->at = (size_t)(at - s->text);
}

static bool skip_word(struct json_cursor *s, const char *word)
{
	size_t size = strlen(word);

	if (s->size - s->at < size || memcmp(s->text + s->at, word, size) != 0)
		return fail(s);
	s->at += size;
	return true;
}

/* Smaller objects and arrays are rescanned instead of remembered in struct json_ends. */
#define LARGE 16384

static struct span *end_row(const struct json_cursor *s)
{
	return &s->ends->rows[hash_u64(s->at) % (sizeof(s->ends->rows) / sizeof(struct span))];
}

static void skip_items(struct json_cursor *s)
{
	if (s->text[s->at] == '{') {
		json_for_each_member(s, key)
			json_cursor_skip(s);
		return;
	}
	json_for_each_element(s, row) {
		skip_numbers(s);
		json_cursor_skip(s);
	}
}

/* Skips the object or array that begins here. */
static bool skip_list(struct json_cursor *s)
{
	struct span *row = s->ends ? end_row(s) : NULL;
	size_t start = s->at;

	if (row && row->end && row->start == start && row->end <= s->size) {
		s->at = row->end;
		return true;
	}
	skip_items(s);
	if (row && !s->failed && s->at - start >= LARGE)
		*row = (struct span){start, s->at};
	return !s->failed;
}

bool json_cursor_skip(struct json_cursor *s)
{
	struct span inside;

	switch (peek(s)) {
	case '{':
	case '[':
		return skip_list(s);
	case '"':
		return skip_string(s, &inside);
	case 't':
		return skip_word(s, "true");
	case 'f':
		return skip_word(s, "false");
	case 'n':
		return skip_word(s, "null");
	case '\0':
		return fail(s);
	default:
		return take_number(s);
	}
}

bool json_cursor_value(struct json_cursor *s, struct span *value)
{
	bool is_there;

	peek(s);
	value->start = s->at;
	is_there = json_cursor_skip(s);
	value->end = s->at;
	return is_there;
}

bool json_cursor_i64(struct json_cursor *s, int64_t *value)
{
	const char *start, *at, *end = s->text + s->size;
	bool is_negative = peek(s) == '-';
	int64_t number = 0;

	start = at = s->text + s->at + is_negative;
	for (; at < end && decimal_is_digit(*at); at++) {
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_sub_overflow(number, *at - '0', &number))
			return fail(s);
	}
	/* Not an integer: no digit, a leading zero, a point or an exponent. */
	if (s->failed || at == start || (at - start > 1 && *start == '0') ||
	    (at < end && strchr(".eE", *at) && *at))
		return fail(s);
	if (!is_negative && __builtin_sub_overflow(0, number, &number))
		return fail(s);
	s->at = (size_t)(at - s->text);
	*value = number;
	return true;
}

bool json_cursor_decimal(struct json_cursor *s, struct decimal *value)
{
	bool is_negative = peek(s) == '-';
	const char *start = s->text + s->at;
	const char *behind = decimal_parse_plain(start + is_negative, s->text + s->size, value);

	if (s->failed)
		return false;
	if (!behind)
		return take_number(s) &&
		       (decimal_parse_scientific(start, (size_t)(s->text + s->at - start), value) ||
			fail(s));
	s->at = (size_t)(behind - s->text);
	if (is_negative) {
		value->millionths = -value->millionths;
		value->thousandths = -value->thousandths;
	}
	return true;
}

bool json_cursor_bool(struct json_cursor *s, bool *value)
{
	*value = peek(s) == 't';
	return skip_word(s, *value ? "true" : "false");
}

bool json_cursor_null(struct json_cursor *s)
{
	return peek(s) == 'n' && skip_word(s, "null");
}

static bool hex_digits(struct json_cursor *s, size_t at, size_t end, uint32_t *value)
{
	*value = 0;
	if (end - at < 4)
		return fail(s);
	for (size_t i = at; i < at + 4; i++) {
		char c = s->text[i];
		uint32_t digit;

		if (c >= '0' && c <= '9')
			digit = (uint32_t)(c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (uint32_t)((c | 0x20) - 'a' + 10);
		else
			return fail(s);
		*value = *value << 4 | digit;
	}
	return true;
}

/* Decodes "uXXXX" at `at`, both halves of a surrogate pair. Returns its length; 0: failed. */
static size_t add_unicode(struct json_cursor *s, size_t at, size_t end, struct strbuf *text)
{
	uint32_t high, low;
	size_t size = 5;

	if (!hex_digits(s, at + 1, end, &high))
		return 0;
	if (high >= 0xd800 && high < 0xdc00 && end - at > 6 && s->text[at + 5] == '\\' &&
	    s->text[at + 6] == 'u') {
		if (!hex_digits(s, at + 7, end, &low))
			return 0;
		if (low >= 0xdc00 && low < 0xe000) {
			high = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
			size = 11;
		}
	}
	strbuf_add_utf8(text, high);
	return size;
}

/* Decodes the characters after a backslash. Returns their number; 0 on failure. */
static size_t add_escaped(struct json_cursor *s, size_t at, size_t end, struct strbuf *text)
{
	static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *name;

	if (s->text[at] == 'u')
		return add_unicode(s, at, end, text);
	name = s->text[at] ? strchr(names, s->text[at]) : NULL;
	if (!name) {
		fail(s);
		return 0;
	}
	strbuf_addch(text, values[name - names]);
	return 1;
}

bool json_cursor_string(struct json_cursor *s, struct strbuf *text)
{
	struct span inside;
	size_t size;

	strbuf_reset(text);
	if (!skip_string(s, &inside))
		return false;
	for (size_t at = inside.start; at < inside.end; at += size) {
		const char *start = s->text + at;
		const char *escape = memchr(start, '\\', inside.end - at);

		size = escape ? (size_t)(escape - start) : inside.end - at;
		strbuf_add(text, start, size);
		if (!escape)
			continue;
		at += size + 1;
		size = add_escaped(s, at, inside.end, text);
		if (!size)
			return false;
	}
	return true;
}

char *json_cursor_text(struct json_cursor *s)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (json_cursor_peek(s) == '"')
		json_cursor_string(s, &text);
	else
		json_cursor_skip(s);
	return xstrdup(strbuf_text(&text));
}

bool json_cursor_find(struct json_cursor s, const char *const *names, struct span *spans)
{
	struct span value;

	if (json_cursor_peek(&s) != '{')
		return false;
	json_for_each_member(&s, key) {
		json_cursor_value(&s, &value);
		for (size_t i = 0; names[i]; i++) {
			if (span_is(&s, key, names[i]))
				spans[i] = value;
		}
	}
	return !s.failed;
}

bool json_cursor_end(struct json_cursor *s)
{
	peek(s);
	return !s->failed && s->at == s->size;
}

bool span_is(const struct json_cursor *s, struct span span, const char *text)
{
	size_t size = strlen(text);

	return span.end - span.start == size && !memcmp(s->text + span.start, text, size);
}

bool span_is_one_of(const struct json_cursor *s, struct span span, const char *const *texts)
{
	while (*texts && !span_is(s, span, *texts))
		texts++;
	return *texts;
}

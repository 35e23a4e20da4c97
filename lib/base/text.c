/* SPDX-License-Identifier: MIT */
#include "lib/base/base.h"

#include <locale.h>
#include <math.h>

/*
 * Makes room for `size` more bytes and the terminator. An overflow becomes an impossible request,
 * which ends the process.
 */
static void reserve(struct strbuf *s, size_t size)
{
	size_t needed;

	if (__builtin_add_overflow(s->size, size, &needed) ||
	    __builtin_add_overflow(needed, 1, &needed))
		needed = SIZE_MAX;
	if (needed > s->capacity)
		s->text = vec_grow(s->text, &s->capacity, needed, 1);
}

void strbuf_release(struct strbuf *s)
{
	free(s->text);
	*s = (struct strbuf){0};
}

void strbuf_reset(struct strbuf *s)
{
	s->size = 0;
	if (s->text)
		s->text[0] = '\0';
}

void strbuf_add(struct strbuf *s, const void *data, size_t size)
{
	reserve(s, size);
	if (size)
		memcpy(s->text + s->size, data, size);
	s->size += size;
	s->text[s->size] = '\0';
}

void strbuf_adds(struct strbuf *s, const char *text)
{
	strbuf_add(s, text, strlen(text));
}

void strbuf_addch(struct strbuf *s, char c)
{
	reserve(s, 1);
	s->text[s->size++] = c;
	s->text[s->size] = '\0';
}

void strbuf_add_utf8(struct strbuf *s, uint32_t c)
{
	char bytes[4];
	size_t size = 0;

	if (c >= 0xd800 && c < 0xe000)
		c = 0xfffd;
	if (c < 0x80) {
		bytes[size++] = (char)c;
	} else if (c < 0x800) {
		bytes[size++] = (char)(0xc0 | c >> 6);
		bytes[size++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[size++] = (char)(0xe0 | c >> 12);
		bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[size++] = (char)(0x80 | (c & 0x3f));
	} else {
		bytes[size++] = (char)(0xf0 | c >> 18);
		bytes[size++] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[size++] = (char)(0x80 | (c & 0x3f));
	}
	strbuf_add(s, bytes, size);
}

void strbuf_addf(struct strbuf *s, const char *fmt, ...)
{
	va_list args;
	int length;

	reserve(s, 0);
	va_start(args, fmt);
	length = vsnprintf(s->text + s->size, s->capacity - s->size, fmt, args);
	va_end(args);
	if (length < 0) {
		s->text[s->size] = '\0';
		return;
	}
	if ((size_t)length >= s->capacity - s->size) {
		reserve(s, (size_t)length);
		va_start(args, fmt);
		vsnprintf(s->text + s->size, s->capacity - s->size, fmt, args);
		va_end(args);
	}
	s->size += (size_t)length;
}

const char *strbuf_text(const struct strbuf *s)
{
	return s->text ? s->text : "";
}

char *strbuf_take(struct strbuf *s)
{
	char *text = s->text ? s->text : xstrdup("");

	*s = (struct strbuf){0};
	return text;
}

void strbuf_add_grouped(struct strbuf *s, uint64_t value)
{
	char digits[24];
	size_t size = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, value);

	for (size_t i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			strbuf_addch(s, ',');
		strbuf_addch(s, digits[i]);
	}
}

#define ELLIPSIS "…"

struct range {
	uint32_t first, last;
};

static bool has(const struct range *ranges, size_t count, uint32_t point)
{
	return items_find(ranges, count, it, point >= it->first && point <= it->last);
}

/* Wide and zero-width blocks of Unicode 15. */
static size_t width_of_point(uint32_t point)
{
	static const struct range none[] = {{0x0300, 0x036f}, {0x0483, 0x0489},	 {0x0591, 0x05bd},
					    {0x064b, 0x065f}, {0x1ab0, 0x1aff},	 {0x1dc0, 0x1dff},
					    {0x200b, 0x200f}, {0x20d0, 0x20ff},	 {0xfe00, 0xfe0f},
					    {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
	static const struct range two[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
		{0xa960, 0xa97f},   {0xac00, 0xd7a3},	{0xf900, 0xfaff},   {0xfe30, 0xfe6f},
		{0xff00, 0xff60},   {0xffe0, 0xffe6},	{0x16fe0, 0x18cff}, {0x1b000, 0x1b2ff},
		{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff},
		{0x20000, 0x3fffd}};

	if (point < none[0].first || has(none, sizeof(none) / sizeof(none[0]), point))
		return point < none[0].first;
	return 1 + has(two, sizeof(two) / sizeof(two[0]), point);
}

/* Returns the size of the character at text, and its width in columns. */
static size_t step(const char *text, size_t *width)
{
	size_t size = text_utf8_length(text, strlen(text));

	*width = size ? width_of_point(text_code_point(text, size)) : 1;
	return size ? size : 1;
}

size_t text_width(const char *text)
{
	size_t total = 0, width;

	for (; *text; total += width)
		text += step(text, &width);
	return total;
}

char *text_cut(const char *text, size_t width, bool keeps_end)
{
	size_t all = text_width(text), end = keeps_end ? (width - 1) * 2 / 5 : 0;
	size_t done = 0, own, size = step(text, &own);
	struct strbuf out = {0};

	if (all <= width)
		return xstrdup(text);
	for (; *text && done + own <= width - 1 - end; size = step(text, &own)) {
		strbuf_add(&out, text, size);
		text += size;
		done += own;
	}
	strbuf_adds(&out, ELLIPSIS);
	for (; *text && all - done > end; size = step(text, &own)) {
		text += size;
		done += own;
	}
	strbuf_adds(&out, text);
	return strbuf_take(&out);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Takes the text up to the closing quote and moves *at past it; false if there is none. */
static bool take_quoted(const char **at, char quote, struct strbuf *word)
{
	for (; **at && **at != quote; ++*at) {
		/* In double quotes, a backslash escapes only these. */
		if (quote == '"' && **at == '\\' && (*at)[1] && strchr("\"\\$`", (*at)[1]))
			++*at;
		strbuf_addch(word, **at);
	}
	if (!**at)
		return false;
	++*at;
	return true;
}

static bool take_word(const char **at, struct strbuf *word)
{
	while (**at && !is_blank(**at)) {
		char c = *(*at)++;

		if (c == '\'' || c == '"') {
			if (!take_quoted(at, c, word))
				return false;
		} else if (c == '\\') {
			if (!**at)
				return false;
			strbuf_addch(word, *(*at)++);
		} else {
			strbuf_addch(word, c);
		}
	}
	return true;
}

char **words_split(const char *text)
{
	struct {
		VEC(char *) list;
	} words = {0};
	bool is_complete = true;

	while (is_complete && *(text += strspn(text, " \t\n"))) {
		struct strbuf word = {0};

		is_complete = take_word(&text, &word);
		vec_push(&words.list, strbuf_take(&word));
	}
	vec_push(&words.list, NULL);
	if (is_complete && words.list.items[0])
		return words.list.items;
	words_free(words.list.items);
	return NULL;
}

void words_free(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

#define WORD_MAX 32
/* Allow one mistake per this many letters, and one in a word of two letters. */
#define LETTERS_PER_MISTAKE 3

size_t near_miss_distance(const char *a, const char *b)
{
	/* rows[i % 3][j]: distance between the first i bytes of a and the first j of b. */
	size_t rows[3][WORD_MAX + 1], a_size = strlen(a), b_size = strlen(b);

	if (a_size > WORD_MAX || b_size > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= b_size; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_size; i++) {
		const size_t *above = rows[(i - 1) % 3], *swapped = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_size; j++) {
			row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = MIN(row[j], MIN(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], swapped[j - 2] + 1);
		}
	}
	return rows[a_size % 3][b_size];
}

const char *near_miss(const char *word, const char *const *candidates, size_t count)
{
	size_t length = strlen(word), allowed = length / LETTERS_PER_MISTAKE;
	const char *nearest = NULL;

	if (!allowed && length > 1)
		allowed = 1;
	for (size_t i = 0; i < count && allowed; i++) {
		size_t distance = near_miss_distance(word, candidates[i]);

		if (distance > allowed || (nearest && distance == allowed))
			continue;
		nearest = candidates[i];
		allowed = distance;
	}
	return nearest;
}

const char *text_counted(uint64_t count, const char *one, const char *many)
{
	return count == 1 ? one : many;
}

bool text_starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool text_ends_with(const char *text, const char *suffix)
{
	size_t length = strlen(text), suffix_length = strlen(suffix);

	return length >= suffix_length && !strcmp(text + length - suffix_length, suffix);
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return INT32_MAX;
}

/* Leaves *at unchanged on failure. */
static bool scan(const char **at, const char *end, int base, uint64_t *value)
{
	const char *p = *at;
	uint64_t sum = 0;

	for (; p < end && digit_value(*p) < base; p++) {
		if (__builtin_mul_overflow(sum, (uint64_t)base, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)digit_value(*p), &sum))
			return false;
	}
	if (p == *at)
		return false;
	*at = p;
	*value = sum;
	return true;
}

bool text_scan_hex(const char **at, const char *end, uint64_t *value)
{
	return scan(at, end, 16, value);
}

bool text_scan_decimal(const char **at, const char *end, uint64_t *value)
{
	return scan(at, end, 10, value);
}

bool text_to_u64(const char *text, int base, uint64_t *value)
{
	const char *end = text + strlen(text);
	uint64_t number;

	if (!scan(&text, end, base, &number) || text != end)
		return false;
	*value = number;
	return true;
}

static const char *skip_digits(const char *text)
{
	return text + strspn(text, "0123456789");
}

/* [-] digits [. digits] [e [+-] digits], a digit before or after the point. */
static bool is_decimal(const char *text)
{
	const char *whole = text + (*text == '-');
	const char *end = skip_digits(whole);
	bool has_digit = end > whole;

	if (*end == '.') {
		const char *fraction = end + 1;

		end = skip_digits(fraction);
		has_digit |= end > fraction;
	}
	if (has_digit && (*end == 'e' || *end == 'E')) {
		const char *exponent = end + 1;

		exponent += *exponent == '-' || *exponent == '+';
		end = skip_digits(exponent);
		has_digit = end > exponent;
	}
	return has_digit && !*end;
}

bool text_to_double(const char *text, double *value)
{
	locale_t c_locale;
	double number;

	if (!is_decimal(text))
		return false;
	/* The user's locale may use a decimal comma. */
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!c_locale)
		return false;
	number = strtod_l(text, NULL, c_locale);
	freelocale(c_locale);
	if (!isfinite(number))
		return false;
	*value = number;
	return true;
}

bool text_to_size(const char *text, uint64_t *size)
{
	static const char suffixes[] = "KMG";
	const char *end = text + strlen(text), *suffix;
	unsigned int shift = 0;
	uint64_t number;

	if (!scan(&text, end, 10, &number))
		return false;
	if (text < end) {
		suffix = strchr(suffixes, *text);
		if (!suffix || text + 1 != end)
			return false;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
	}
	if (number > UINT64_MAX >> shift)
		return false;
	*size = number << shift;
	return true;
}

/* Table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t text_utf8_length(const char *text, size_t size)
{
	const uint8_t *at = (const uint8_t *)text;
	uint8_t second_min = 0x80, second_max = 0xbf;
	size_t length;

	if (!size)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	if (size < length)
		return 0;
	if (at[0] == 0xe0)
		second_min = 0xa0;
	else if (at[0] == 0xed)
		second_max = 0x9f;
	else if (at[0] == 0xf0)
		second_min = 0x90;
	else if (at[0] == 0xf4)
		second_max = 0x8f;
	if (at[1] < second_min || at[1] > second_max)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

uint32_t text_code_point(const char *text, size_t length)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t point = (uint8_t)text[0] & masks[length];

	for (size_t i = 1; i < length; i++)
		point = point << 6 | ((uint8_t)text[i] & 0x3f);
	return point;
}

/* Control and format characters (Cc, Cf), and line separators, as of Unicode 15. */
static bool steers_terminal(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x0, 0x1f},	    {0x7f, 0x9f},	{0xad, 0xad},	    {0x600, 0x605},
		{0x61c, 0x61c},	    {0x6dd, 0x6dd},	{0x70f, 0x70f},	    {0x890, 0x891},
		{0x8e2, 0x8e2},	    {0x180e, 0x180e},	{0x200b, 0x200f},   {0x2028, 0x202e},
		{0x2060, 0x206f},   {0xfeff, 0xfeff},	{0xfff9, 0xfffb},   {0x110bd, 0x110bd},
		{0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
	};

	return array_find(ranges, it, point >= it->first && point <= it->last);
}

void text_to_line(char *text)
{
	const char *end = text + strlen(text), *at = text;

	while (at < end) {
		size_t length;

		if (*at >= ' ' && *at <= '~') {
			*text++ = *at++;
			continue;
		}
		length = text_utf8_length(at, (size_t)(end - at));
		if (!length || steers_terminal(text_code_point(at, length))) {
			*text++ = '?';
		} else {
			memmove(text, at, length);
			text += length;
		}
		at += length ? length : 1;
	}
	*text = '\0';
}

/* Files in /proc report no size and return a page or a line at a time: read to the end. */
char *text_read_fd(int fd, size_t max, size_t *size)
{
	_cleanup_free_ char *text = NULL;
	size_t used = 0, capacity = 0;

	while (used < max) {
		ssize_t got;

		if (used == capacity) {
			capacity = capacity ? capacity * 2 : 4096;
			capacity = MIN(capacity, max);
			text = xrealloc(text, capacity);
		}
		got = read(fd, text + used, capacity - used);
		if (got < 0 && errno != EINTR)
			return NULL;
		if (!got)
			break;
		if (got > 0)
			used += (size_t)got;
	}
	text = xrealloc(text, used + 1);
	text[used] = '\0';
	if (size)
		*size = used;
	return steal(text);
}

char *text_read_file(const char *path, size_t max, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text;
	int saved_errno;

	if (fd < 0)
		return NULL;
	text = text_read_fd(fd, max, size);
	saved_errno = errno;
	close(fd);
	errno = saved_errno;
	return text;
}

/* Rounds; adding half of the divisor first could overflow. */
static uint64_t divide(uint64_t value, uint64_t by)
{
	return value / by + (value % by >= by / 2);
}

void text_format_bytes(char *buf, size_t buf_size, uint64_t bytes)
{
	static const char units[] = "kMGTPE";
	const char *unit = units;
	uint64_t size = 1000, whole, tenths;

	if (bytes < 1000) {
		snprintf(buf, buf_size, "%" PRIu64 " B", bytes);
		return;
	}
	/* Round before choosing the unit, so that 999,500 is "1.0 MB" and not "1000 kB". */
	while ((whole = divide(bytes, size)) >= 1000 && unit[1]) {
		size *= 1000;
		unit++;
	}
	tenths = divide(bytes, size / 10);
	if (tenths < 100)
		snprintf(buf, buf_size, "%u.%u %cB", (unsigned int)tenths / 10,
			 (unsigned int)tenths % 10, *unit);
	else
		snprintf(buf, buf_size, "%u %cB", (unsigned int)whole, *unit);
}

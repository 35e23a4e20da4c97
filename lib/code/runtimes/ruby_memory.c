/* SPDX-License-Identifier: MIT */
/* Reads objects of Ruby from a process. Whatever they contain, reads are few. */
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/code/runtimes/ruby.h"

#define TEXT_MAX 4096
#define REPLACEMENT "\xef\xbf\xbd"
#define VARIABLES_MAX 64
#define SYMBOLS_IN_A_ROW 512
#define OPERATOR_LAST 170 /* symbols up to it are numbers of themselves */
#define KIND_OBJECT 2 /* a class */
#define KIND_MODULE 3

bool ruby_read_words(const struct ruby_memory *m, uint64_t addr, uint64_t *words, size_t count)
{
	uint8_t data[64 * 8];
	struct bytes b;

	if (!addr || addr % 8 || count > sizeof(data) / 8 ||
	    !m->read(m->ctx, addr, data, count * 8))
		return false;
	bytes_init(&b, data, count * 8);
	for (size_t i = 0; i < count; i++)
		words[i] = bytes_u64(&b);
	return true;
}

void ruby_text(const char *data, size_t size, struct strbuf *text)
{
	for (size_t at = 0; at < size && data[at];) {
		size_t length = text_utf8_length(data + at, size - at);

		strbuf_add(text, length ? data + at : REPLACEMENT,
			   length ? length : sizeof(REPLACEMENT) - 1);
		at += length ? length : 1;
	}
}

bool ruby_read_string(const struct ruby_memory *m, uint64_t addr, struct strbuf *text)
{
	uint64_t words[RUBY_STRING_WORDS], size, from;
	char data[TEXT_MAX];

	if (!ruby_read_words(m, addr, words, RUBY_STRING_WORDS))
		return false;
	if ((words[0] & RUBY_TYPE_MASK) == RUBY_TYPE_ARRAY) {
		addr = words[2];
		if (!(words[0] & RUBY_STRING_APART) ||
		    !ruby_read_words(m, addr, words, RUBY_STRING_WORDS))
			return false;
	}
	if ((words[0] & RUBY_TYPE_MASK) != RUBY_TYPE_STRING)
		return false;
	size = words[0] & RUBY_STRING_APART || m->layout->string_length ? words[2]
									: words[0] >> 14 & 31;
	from = words[0] & RUBY_STRING_APART ? words[3] : addr + m->layout->string_text;
	if (size > sizeof(data))
		size = sizeof(data);
	if (!m->read(m->ctx, from, data, size))
		return false;
	ruby_text(data, size, text);
	return true;
}

/* Reads an element of an Array. */
static bool read_element(const struct ruby_memory *m, uint64_t array, uint64_t index,
			 uint64_t *value)
{
	uint64_t words[RUBY_STRING_WORDS], from;

	if (!ruby_read_words(m, array, words, RUBY_STRING_WORDS) ||
	    (words[0] & RUBY_TYPE_MASK) != RUBY_TYPE_ARRAY)
		return false;
	from = words[0] & RUBY_STRING_APART ? array + 16 : words[4];
	return ruby_read_words(m, from + index * 8, value, 1);
}

bool ruby_read_symbol(const struct ruby_memory *m, uint64_t symbols, uint64_t id,
		      struct strbuf *text)
{
	uint64_t number = id > OPERATOR_LAST ? id >> 4 : id, all[3], row, string;

	/* The number of the last one, a table, then the names. */
	return symbols && number <= UINT32_MAX && ruby_read_words(m, symbols, all, 3) &&
	       number <= (uint32_t)all[0] &&
	       read_element(m, all[2], number / SYMBOLS_IN_A_ROW, &row) &&
	       read_element(m, row, number % SYMBOLS_IN_A_ROW * 2, &string) &&
	       ruby_read_string(m, string, text);
}

/* Finds a variable of a class that the interpreter keeps for itself. */
static bool find_variable(const struct ruby_memory *m, uint64_t symbols, uint64_t table,
			  const char *name, uint64_t *value)
{
	/* Sizes, type, number of entries, bins, places of the first and after the last, entries. */
	uint64_t words[7], entry[3];

	if (!ruby_read_words(m, table, words, 7))
		return false;
	for (uint64_t i = 0; i < words[5] && i < VARIABLES_MAX; i++) {
		_cleanup_(strbuf_release) struct strbuf text = {0};

		if (!ruby_read_words(m, words[6] + i * sizeof(entry), entry, 3))
			return false;
		if (!ruby_read_symbol(m, symbols, entry[1], &text) ||
		    strcmp(strbuf_text(&text), name) != 0)
			continue;
		*value = entry[2];
		return true;
	}
	return false;
}

/* Finds a class's name, or for one of a single object, that object. */
static bool find_property(const struct ruby_memory *m, uint64_t symbols, uint64_t class,
			  bool is_name, uint64_t *value)
{
	const struct ruby_layout *l = m->layout;
	uint16_t at = is_name ? l->class_name : l->class_object;
	uint64_t more, table;

	if (at)
		return ruby_read_words(m, class + at, value, 1);
	return ruby_read_words(m, class + l->class_more, &more, 1) &&
	       ruby_read_words(m, more + l->more_variables, &table, 1) &&
	       find_variable(m, symbols, table, is_name ? "__classpath__" : "__attached__", value);
}

bool ruby_read_class(const struct ruby_memory *m, uint64_t symbols, uint64_t class,
		     struct strbuf *text)
{
	const char *end = "#";
	uint64_t flags, value;

	for (int hop = 0; hop < 2; hop++) {
		if (!ruby_read_words(m, class, &flags, 1))
			return false;
		if ((flags & RUBY_TYPE_MASK) != KIND_OBJECT &&
		    (flags & RUBY_TYPE_MASK) != KIND_MODULE)
			return false;
		if ((flags & RUBY_TYPE_MASK) != KIND_OBJECT || !(flags >> m->layout->singleton & 1))
			break;
		if (!find_property(m, symbols, class, false, &value))
			return false;
		class = value;
		end = ".";
	}
	if (!find_property(m, symbols, class, true, &value) || !ruby_read_string(m, value, text))
		return false;
	strbuf_adds(text, end);
	return true;
}

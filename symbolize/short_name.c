/* SPDX-License-Identifier: MIT */
#include "symbolize/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

struct scan {
	const char *at, *end;
};

static bool starts_with(const struct scan *s, const char *text)
{
	size_t size = strlen(text);

	return (size_t)(s->end - s->at) >= size && memcmp(s->at, text, size) == 0;
}

/* Copies `text` if the name continues with it. */
static bool copy(struct scan *s, struct strbuf *out, const char *text)
{
	if (!starts_with(s, text))
		return false;
	strbuf_adds(out, text);
	s->at += strlen(text);
	return true;
}

static bool is_identifier(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Returns the place after the bracket that closes the one at `at`; NULL if none does. */
static const char *skip_brackets(const char *at, const char *end)
{
	size_t depth = 0;

	for (; at < end; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at + 1;
	}
	return NULL;
}

/* Copies an operator's name, of which brackets and angles are part. */
static bool copy_operator(struct scan *s, const char *start, struct strbuf *out)
{
	static const char *const names[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">",
	};

	if ((s->at > start && is_identifier(s->at[-1])) || !starts_with(s, "operator") ||
	    (s->at + 8 < s->end && is_identifier(s->at[8])))
		return false;
	copy(s, out, "operator");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (copy(s, out, names[i]))
			break;
	}
	return true;
}

/* "{lambda(int)#1}" → "{lambda#1}" */
static bool copy_lambda(struct scan *s, struct strbuf *out)
{
	const char *behind;

	if (!starts_with(s, "{lambda("))
		return false;
	behind = skip_brackets(s->at + strlen("{lambda"), s->end);
	if (!behind)
		return false;
	copy(s, out, "{lambda");
	s->at = behind;
	return true;
}

/* Drops the parameters of an enclosing function: "f(int) const::". */
static bool copy_brackets(struct scan *s, struct strbuf *out)
{
	static const char *const qualifiers[] = {" const", " volatile", " &&", " &"};
	const char *start = s->at;
	struct scan rest = *s;
	bool is_namespace;

	if (*start != '(')
		return false;
	is_namespace = starts_with(s, "(anonymous namespace)");
	rest.at = skip_brackets(start, s->end);
	s->at = rest.at ? rest.at : s->end;
	if (!rest.at || is_namespace) {
		strbuf_add(out, start, (size_t)(s->at - start));
		return true;
	}
	for (size_t i = 0; i < sizeof(qualifiers) / sizeof(*qualifiers); i++) {
		if (starts_with(&rest, qualifiers[i]))
			rest.at += strlen(qualifiers[i]);
	}
	if (starts_with(&rest, "::"))
		s->at = rest.at;
	else
		strbuf_add(out, start, (size_t)(s->at - start));
	return true;
}

void short_name_add(struct strbuf *out, const char *name, size_t size)
{
	struct scan s = {name, name + size};
	size_t angles = 0;

	while (s.at < s.end) {
		if (copy_operator(&s, name, out))
			continue;
		if (!angles && (copy_brackets(&s, out) || copy_lambda(&s, out)))
			continue;
		if (*s.at == '<')
			angles++;
		else if (*s.at == '>' && angles && (s.at == name || s.at[-1] != '-'))
			angles--;
		strbuf_addch(out, *s.at++);
	}
}

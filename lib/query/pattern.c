/* SPDX-License-Identifier: MIT */
#include "lib/query/pattern.h"

/*
 * Returns the reason why C libraries would reject an expression or interpret it differently; NULL
 * if there is none. In brackets, a backslash is literal.
 */
static const char *find_foreign(const char *expression)
{
	const char *first = NULL; /* first character within brackets */

	for (const char *c = expression; *c; c++) {
		if (first) {
			first = *c == ']' && c != first ? NULL : first;
			continue;
		}
		if (*c == '[')
			first = c + 1 + (c[1] == '^');
		else if (*c == '{' && c[1] == ',')
			return "write {0,n} for {,n}";
		else if (*c == '\\' && c[1]) {
			c++;
			if (strchr("`'0123456789", *c) ||
			    (((*c | 32) >= 'a' && (*c | 32) <= 'z') && !strchr("bBwWsS", *c)))
				return "a backslash may only precede b, B, w, W, s, S or a punctuation mark";
		}
	}
	return NULL;
}

int pattern_compile(regex_t *regex, const char *option, const char *expression, struct error *err)
{
	const char *foreign = find_foreign(expression);
	const char *dashes = option ? "--" : "", *blank = option ? " " : "";
	char why[128];
	int ret;

	option = option ? option : "";
	if (foreign)
		return error_text(err, -EINVAL, "%s%s%s%s: %s", dashes, option, blank, expression,
				  foreign);
	ret = regcomp(regex, expression, REG_EXTENDED | REG_NOSUB);
	if (!ret)
		return 0;
	regerror(ret, regex, why, sizeof(why));
	return error_text(err, -EINVAL, "%s%s%s%s: %s", dashes, option, blank, expression, why);
}

char *pattern_of_name(const char *name)
{
	struct strbuf text = {0};

	strbuf_addch(&text, '^');
	for (; *name; name++) {
		if (strchr("\\^$.[]()*+?{}|", *name))
			strbuf_addch(&text, '\\');
		strbuf_addch(&text, *name);
	}
	strbuf_addch(&text, '$');
	return strbuf_take(&text);
}

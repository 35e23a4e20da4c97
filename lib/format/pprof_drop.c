/* SPDX-License-Identifier: MIT */
#include "lib/format/pprof.h"

/*
 * Limits of expressions: longer and deeper ones cost too much, as each + doubles what it repeats.
 */
#define EXPRESSION_MAX 8192
#define DEPTH_MAX 8

/* Returns false for expressions of other dialects, or that would take the library too long. */
static bool is_cheap(const char *text)
{
	size_t depth = 0;

	for (const char *at = text; *at; at++) {
		if (*at == '\\' && (!at[1] || strchr("0123456789", at[1])))
			return false;
		at += *at == '\\';
		depth += *at == '(';
		depth -= *at == ')' && depth;
		if (*at == '{' || depth > DEPTH_MAX)
			return false;
	}
	return strlen(text) < EXPRESSION_MAX && !strstr(text, "(?");
}

static bool compile(regex_t *regex, const char *text, uint64_t *unread)
{
	_cleanup_free_ char *whole = xasprintf("^(%s)$", text);
	bool is_good = is_cheap(text) && *text && !regcomp(regex, whole, REG_EXTENDED | REG_NOSUB);

	*unread += *text && !is_good;
	return is_good;
}

bool pprof_drop_init(struct pprof_drop *d, const struct profile *p, const char *drop,
		     const char *keep, uint64_t *unread)
{
	*d = (struct pprof_drop){0};
	if (!compile(&d->drop, drop, unread))
		return false;
	d->has_keep = compile(&d->keep, keep, unread);
	d->known = xcalloc(p->funcs.rows.count + 1, 1);
	return true;
}

void pprof_drop_release(struct pprof_drop *d)
{
	free(d->known);
	regfree(&d->drop);
	if (d->has_keep)
		regfree(&d->keep);
}

/* Shortens "f(int)" to "f". */
static void cut_arguments(char *name)
{
	static const char *const reserved[] = {"(anonymous namespace)", "operator()"};
	char *at = name;

	while ((at = strchr(at, '('))) {
		if (text_starts_with(at, reserved[0]))
			at += strlen(reserved[0]);
		else if (at - name >= 8 && text_starts_with(at - 8, reserved[1]))
			at += 2;
		else
			*at = '\0';
	}
}

bool pprof_drop_is(struct pprof_drop *d, const struct profile *p, frame_id id)
{
	func_id func = frames_get(&p->frames, id)->func;
	_cleanup_free_ char *name = NULL;
	const char *from;

	if (func == NO_FUNC)
		return false;
	if (!d->known[func]) {
		from = strings_get(&p->strings, p->funcs.rows.items[func].name);
		name = xstrdup(from + (*from == '.'));
		cut_arguments(name);
		d->known[func] = 1 + (!regexec(&d->drop, name, 0, NULL, 0) &&
				      (!d->has_keep || regexec(&d->keep, name, 0, NULL, 0)));
	}
	return d->known[func] == 2;
}

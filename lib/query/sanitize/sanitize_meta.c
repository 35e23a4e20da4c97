/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/query/sanitize/internal.h"

/* A text among them has nothing of the recorded programs in it. */
static bool is_known(const struct profile_extra *extra)
{
	const struct fact_kind *kind;
	double number;

	if (extra->fact == FACT_NONE)
		return false;
	kind = fact_kind(extra->fact);
	return kind->is_harmless &&
	       (kind->format == FACT_FORMAT_TEXT || text_to_double(extra->value, &number));
}

static void copy_extras(struct sanitizer *s)
{
	vec_for_each(&s->from->meta.extra, const struct profile_extra *, extra) {
		char *label, *value;

		if (!is_known(extra)) {
			s->counts->unknown++;
			continue;
		}
		label = sanitize_copy(s, extra->label);
		value = sanitize_copy(s, extra->value);
		profile_add_extra(s->into, extra->section, label, extra->format, value);
		free(label);
		free(value);
	}
}

/* "stackwalk", "cpu-clock", "sched:sched_switch", and nothing with a folder in it. */
static bool is_feature(const char *text)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_:-");

	return size && size < 64 && !text[size];
}

/* "Linux 6.1.0-27-amd64 x86_64" → "Linux 6.1.0 x86_64": what follows the version may be a name. */
static char *plain_os(const char *os)
{
	const char *version = strchr(os, ' '), *machine = strrchr(os, ' ');
	size_t size;

	if (!version || machine == version)
		return xstrdup("Linux");
	size = strspn(version + 1, "0123456789.");
	return xasprintf("Linux %.*s%s", (int)size, version + 1, machine);
}

static bool keeps_product(const struct sanitizer *s, const char *product)
{
	return !s->options->removes[SANITIZE_PROCESSES] &&
	       (!s->options->names || regexec(&s->names, product, 0, NULL, 0) == 0);
}

static char *copy_product(struct sanitizer *s, const char *product)
{
	bool hides = s->options->removes[SANITIZE_ARGS];
	char *program, *copy;

	if (!keeps_product(s, product))
		return NULL;
	program = xstrndup(product, hides ? strcspn(product, " ") : strlen(product));
	copy = sanitize_copy(s, program);
	free(program);
	return copy;
}

/* Counts what the class takes away. */
static bool takes_away(struct sanitizer *s, enum sanitize_class class)
{
	s->counts->removed[class] += s->options->removes[class];
	return s->options->removes[class];
}

static char *copy_text(void *ctx, size_t member, const char *text)
{
	struct sanitizer *s = ctx;

	switch (member) {
	case offsetof(struct profile_meta, product):
		return copy_product(s, text);
	case offsetof(struct profile_meta, command_line):
		return !*text || takes_away(s, SANITIZE_ARGS) ? NULL : sanitize_copy(s, text);
	case offsetof(struct profile_meta, os):
		return s->options->removes[SANITIZE_HOST] ? plain_os(text) : xstrdup(text);
	case offsetof(struct profile_meta, distribution):
		return takes_away(s, SANITIZE_HOST) ? NULL : xstrdup(text);
	case offsetof(struct profile_meta, features):
		s->counts->unknown += !is_feature(text);
		return is_feature(text) ? xstrdup(text) : NULL;
	case offsetof(struct profile_meta, filters): /* the product, below */
		return NULL;
	default:
		return sanitize_copy(s, text);
	}
}

void sanitize_meta(struct sanitizer *s)
{
	struct profile_meta *into = &s->into->meta;
	bool hides_times = s->options->removes[SANITIZE_TIMES];

	profile_meta_copy(into, &s->from->meta, copy_text, s);
	if (into->product)
		vec_push(&into->filters, xstrdup(into->product));
	if (hides_times)
		into->start_realtime_ns = 0;
	s->counts->removed[SANITIZE_TIMES] += hides_times;
	s->into->stats.user_stacks = s->from->stats.user_stacks;
	s->into->overhead = s->from->overhead;
	copy_extras(s);
}

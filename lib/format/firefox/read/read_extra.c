/* SPDX-License-Identifier: MIT */
/* meta.extra, "Show more" in the front-end: sections of entries. */
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/read/internal.h"

static void add_entry(struct import *r, const char *section, const char *label, const char *format,
		      const char *value)
{
	struct profile_meta *meta = &r->profile->meta;
	const char *of;
	enum fact_id fact = fact_by_row(section, label, &of);

	if (fact == FACT_USER_STACKS)
		text_to_u64(value, 10, &r->profile->stats.user_stacks);
	else if (fact == FACT_DISTRIBUTION && !meta->distribution)
		meta->distribution = xstrdup(value);
	/* The writer adds these to every profile. */
	else if (fact == FACT_NONE || fact_kind(fact)->origin != FACT_WRITTEN)
		profile_add_extra(r->profile, section, label, profile_extra_format(format), value);
}

/* Keeps the spelling of numbers. */
static char *read_value(struct json_cursor *s)
{
	struct span value;

	if (json_cursor_peek(s) == '"')
		return json_cursor_text(s);
	json_cursor_value(s, &value);
	return xstrndup(s->text + value.start, value.end - value.start);
}

static void read_entry(struct import *r, struct json_cursor *s, const char *section)
{
	_cleanup_free_ char *label = NULL, *format = NULL, *value = NULL;
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	while (json_cursor_member(s, &list, &key)) {
		char **to = span_is(s, key, "label")	? &label
			    : span_is(s, key, "format") ? &format
			    : span_is(s, key, "value")	? &value
							: NULL;

		if (to && !*to)
			*to = read_value(s);
		else
			json_cursor_skip(s);
	}
	if (label && value)
		add_entry(r, section, label, format, value);
}

static void read_section(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *label = NULL;
	struct json_cursor entries = {0};
	struct json_cursor_list list = {0}, rows = {0};
	struct span key, value;

	if (json_cursor_peek(s) != '{') {
		json_cursor_skip(s);
		return;
	}
	/* The label may come after the entries. */
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "label") && !label) {
			label = json_cursor_text(s);
			continue;
		}
		json_cursor_value(s, &value);
		if (span_is(s, key, "entries"))
			entries = json_cursor_within(s, value);
	}
	if (json_cursor_peek(&entries) != '[')
		return;
	while (json_cursor_element(&entries, &rows))
		read_entry(r, &entries, label ? label : "");
}

void import_extra(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.extra);
	struct json_cursor_list list = {0};

	while (r->layout.extra.end && json_cursor_element(&s, &list))
		read_section(r, &s);
}

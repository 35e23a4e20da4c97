/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/read/internal.h"

char *import_text(struct json_cursor *s)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (json_cursor_peek(s) == '"')
		json_cursor_string(s, &text);
	else
		json_cursor_skip(s);
	return xstrdup(strbuf_text(&text));
}

string_id import_string(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *text = import_text(s);

	return strings_intern(&r->profile->strings, text);
}

uint64_t import_time(struct json_cursor *s)
{
	struct json_cursor inside;
	struct decimal ms = {0};
	struct span value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	if (!json_cursor_decimal(&inside, &ms))
		return 0;
	return ms.millionths > 0 ? (uint64_t)ms.millionths + (ms.thousandths >= 500) : 0;
}

bool import_skip(struct json_cursor *s)
{
	struct json_cursor_list list = {0};
	struct json_cursor inside;
	struct span value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	switch (json_cursor_peek(&inside)) {
	case 'n':
	case 'f':
		return false;
	case '[':
		return json_cursor_element(&inside, &list);
	default:
		return true;
	}
}

static void import_release(struct import *r)
{
	layout_release(&r->layout);
	cells_release(&r->cells);
	profile_free(r->profile);
	free(r->strings);
	free(r->sources);
	vec_for_each(&r->events, char **, name)
		free(*name);
	vec_release(&r->events);
	vec_for_each(&r->cpus, struct cpu_view *, view)
		vec_release(&view->samples.rows);
	vec_release(&r->cpus);
}

/* Each is one that the file has and the profile does not. */
static void count_counters(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.counters);
	struct json_cursor_list list = {0};

	if (!r->layout.counters.end || json_cursor_peek(&s) != '[')
		return;
	while (json_cursor_element(&s, &list))
		r->counts->unread[UNREAD_COUNTERS] += json_cursor_skip(&s);
}

static int read_parts(struct import *r, struct error *err)
{
	int ret = cells_read(&r->cells, &r->layout, false, err);

	if (!ret)
		ret = import_meta(r, err);
	if (!ret)
		ret = import_tables(r, err);
	import_schemas(r);
	if (!ret)
		ret = import_threads(r, err);
	if (ret)
		return ret;
	import_apply_cpus(r);
	count_counters(r);
	return 0;
}

int firefox_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		 struct error *err)
{
	struct import_counts own;
	struct import r = {.counts = counts ? counts : &own, .profile = profile_new()};
	int ret;

	*r.counts = (struct import_counts){0};
	ret = layout_read(&r.layout, text, size, err);
	if (!ret)
		ret = read_parts(&r, err);
	if (!ret)
		*p = steal(r.profile);
	import_release(&r);
	return ret;
}

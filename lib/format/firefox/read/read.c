/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/format/firefox/read/internal.h"
#include "lib/format/firefox/read/own_tables.h"

#define VERSION_CATEGORIES 12 /* the first with a list of them */

string_id import_string(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *text = json_cursor_text(s);

	return strings_intern(&r->profile->strings, text);
}

uint64_t import_instant(struct json_cursor *s)
{
	struct import_clock clock = {0};
	struct json_cursor inside;
	struct span value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	return import_clock_add(&clock, &inside);
}

uint64_t import_time(struct json_cursor *s)
{
	uint64_t time = import_instant(s);

	return time == CLOCK_NO_TIME ? 0 : time;
}

bool import_integer(struct json_cursor *s, int64_t *number)
{
	struct json_cursor inside;
	struct decimal decimal = {0};
	struct span value;

	*number = 0;
	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	if (json_cursor_i64(&inside, number))
		return true;
	inside = json_cursor_within(s, value);
	json_cursor_decimal(&inside, &decimal);
	*number = decimal.millionths / 1000000;
	return !inside.failed && !(decimal.millionths % 1000000) && !decimal.thousandths;
}

uint64_t import_moment(const struct import *r, uint64_t ns)
{
	int64_t moment;

	if (!clock_can_show(ns))
		return CLOCK_NO_TIME;
	moment = (int64_t)ns + r->shift_ns;
	return r->profile->meta.start_ns + (moment > 0 ? (uint64_t)moment : 0);
}

/* Reads a number; of others, null and numbers that are too large are no damage. */
static bool read_ms(struct json_cursor *s, struct decimal *ms)
{
	struct json_cursor value = *s;

	if (json_cursor_decimal(s, ms))
		return true;
	if (strchr("-0123456789n", json_cursor_peek(&value))) {
		*s = value;
		json_cursor_skip(s);
	}
	return false;
}

uint64_t import_clock_add(struct import_clock *clock, struct json_cursor *s)
{
	struct decimal ms = {0};
	int64_t ns;

	if (!read_ms(s, &ms) || __builtin_add_overflow(clock->ns, ms.millionths, &ns))
		return CLOCK_NO_TIME;
	clock->ns = ns;
	clock->ps += ms.thousandths;
	if (clock->ps >= 1000 || clock->ps < 0) {
		int32_t carry = clock->ps < 0 ? -1 : 1;

		clock->ns += carry;
		clock->ps -= 1000 * carry;
	}
	ns = clock->ns + (clock->ps >= 500);
	return clock_can_show((uint64_t)ns) ? (uint64_t)ns : CLOCK_NO_TIME;
}

/* Tells whether a value that is no object says something. */
static bool says_something(const struct json_cursor *s, struct span value)
{
	struct json_cursor inside = json_cursor_within(s, value);
	struct json_cursor_list list = {0};

	switch (json_cursor_peek(&inside)) {
	case 'n':
	case 'f':
		return false;
	case '[':
		return json_cursor_element(&inside, &list);
	case '"':
		return value.end - value.start > strlen("\"\"");
	default:
		return true;
	}
}

bool import_skip(struct json_cursor *s)
{
	struct json_cursor_list list = {0};
	struct json_cursor inside;
	struct span key, value;

	json_cursor_value(s, &value);
	inside = json_cursor_within(s, value);
	if (json_cursor_peek(&inside) != '{')
		return says_something(s, value);
	/* A table without rows is as empty as an object without members. */
	while (json_cursor_member(&inside, &list, &key)) {
		json_cursor_value(&inside, &value);
		if (!span_is(&inside, key, "length") && says_something(&inside, value))
			return true;
	}
	return false;
}

void import_release(struct import *r)
{
	layout_release(&r->layout);
	cells_release(&r->cells);
	profile_free(r->profile);
	free(r->strings);
	free(r->sources);
	free(r->stack_ids);
	free(r->cause_ids);
	free(r->meanings);
	own_tables_free(r->own);
	vec_for_each(&r->events, char **, name)
		free(*name);
	vec_release(&r->events);
	vec_release(&r->row_fields);
	vec_for_each(&r->cpus, struct cpu_view *, view)
		vec_release(&view->samples.rows);
	vec_release(&r->cpus);
}

int import_finish(struct import *r, struct error *err)
{
	if (!r->profile->threads.rows.count)
		return error_text(err, -EBADMSG, "there is no thread");
	import_settle_threads(r);
	import_apply_cpus(r);
	/* Leaves of samples that are callers alone, and the other way round. */
	if (r->read_own_tables)
		profile_drop_unused(r->profile);
	return 0;
}

static int read_tables(struct import *r, struct error *err)
{
	int ret;

	if (r->layout.version < LAYOUT_VERSION_MIN)
		return import_own_tables(r, err);
	ret = layout_read_tables(&r->layout, err);
	if (!ret)
		ret = cells_read(&r->cells, &r->layout, false, err);
	return ret ? ret : import_tables(r, err);
}

static int read_parts(struct import *r, struct error *err)
{
	int ret = import_meta(r, err);

	if (!ret && r->version < VERSION_CATEGORIES)
		ret = import_old_categories(r, err);
	if (!ret)
		ret = read_tables(r, err);
	if (ret)
		return ret;
	if (r->layout.version < LAYOUT_VERSION_MIN)
		import_old_schemas(r);
	import_schemas(r);
	ret = import_threads(r, err);
	if (ret)
		return ret;
	import_join_waits(r);
	ret = import_finish(r, err);
	if (ret)
		return ret;
	import_overhead(r);
	ret = import_counters(r, err);
	import_set_range(r);
	return ret;
}

int firefox_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		 struct error *err)
{
	struct import_counts own;
	struct import r = {.counts = counts ? counts : &own, .profile = profile_new()};
	int ret;

	*r.counts = (struct import_counts){0};
	ret = layout_find(&r.layout, text, size, err);
	r.version = r.layout.version;
	if (!ret)
		ret = read_parts(&r, err);
	if (!ret)
		*p = steal(r.profile);
	import_release(&r);
	return ret;
}

bool firefox_is_current(const char *text, size_t size)
{
	struct json_cursor_list list = {0}, members = {0};
	int64_t version = 0;
	struct json_cursor s;
	struct span key;

	json_cursor_init(&s, text, size);
	while (!version && json_cursor_member(&s, &list, &key)) {
		if (!span_is(&s, key, "meta") || json_cursor_peek(&s) != '{') {
			json_cursor_skip(&s);
			continue;
		}
		while (json_cursor_member(&s, &members, &key)) {
			if (span_is(&s, key, "preprocessedProfileVersion"))
				import_integer(&s, &version);
			else
				json_cursor_skip(&s);
		}
		break;
	}
	return version >= LAYOUT_VERSION_MIN;
}

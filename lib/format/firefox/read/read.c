/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/read/internal.h"
#include "lib/format/firefox/read/own_tables.h"

#define VERSION_CATEGORIES 12 /* the first with a list of them */

string_id import_string(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *text = json_cursor_text(s);

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

	if (ns > INT64_MAX / 2 || __builtin_add_overflow((int64_t)ns, r->shift_ns, &moment))
		return r->profile->meta.start_ns;
	return r->profile->meta.start_ns + (moment > 0 ? (uint64_t)moment : 0);
}

uint64_t import_clock_add(struct import_clock *clock, struct json_cursor *s)
{
	struct decimal ms = {0};
	int64_t ns;

	json_cursor_decimal(s, &ms);
	if (__builtin_add_overflow(clock->ns, ms.millionths, &clock->ns))
		clock->ns = INT64_MAX / 2;
	clock->ps += ms.thousandths;
	if (clock->ps >= 1000 || clock->ps < 0) {
		int32_t carry = clock->ps < 0 ? -1 : 1;

		clock->ns += carry;
		clock->ps -= 1000 * carry;
	}
	ns = clock->ns + (clock->ps >= 500);
	return ns > 0 ? (uint64_t)ns : 0;
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
	return import_counters(r, err);
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

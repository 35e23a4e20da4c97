/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/read/read_internal.h"
#include "lib/format/foreign.h"

/* meta.extra, "Show more" in the front-end: sections of entries. */

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

static void read_entry(struct import *r, struct json_cursor *s, const char *section)
{
	_cleanup_free_ char *label = NULL, *format = NULL, *value = NULL;

	json_for_each_member_if_any(s, key) {
		char **to = span_is(s, key, "label")	? &label
			    : span_is(s, key, "format") ? &format
			    : span_is(s, key, "value")	? &value
							: NULL;

		if (to && !*to)
			*to = layout_read_value(s);
	}
	if (label && value)
		add_entry(r, section, label, format, value);
}

static void read_section(struct import *r, struct json_cursor *s)
{
	_cleanup_free_ char *label = NULL;
	struct json_cursor entries = {0};
	struct span value;

	/* The label may come after the entries. */
	json_for_each_member_if_any(s, key) {
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
	json_for_each_element(&entries, i)
		read_entry(r, &entries, label ? label : "");
}

/* Imports meta.extra, except entries that the writer derives. */
static void import_extra(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.extra);

	json_for_each_element_if_any(&s, i)
		read_section(r, &s);
}

/* Reads the overhead of recording, and the known fields of other recorders. */

static void read_numbers(struct json_cursor *s, const char *const *names, uint64_t *millionths,
			 size_t count, bool *has_one)
{
	json_for_each_member(s, key) {
		uint64_t value = import_time(s);

		for (size_t i = 0; i < count; i++) {
			if (span_is(s, key, names[i])) {
				millionths[i] = value;
				*has_one = true;
			}
		}
	}
}

static void read_process(struct import *r, struct json_cursor *s)
{
	struct profile_overhead *o = &r->profile->overhead;

	json_for_each_member(s, key) {
		if (span_is(s, key, "statistics") && json_cursor_peek(s) == '{')
			read_numbers(s, overhead_fields, o->statistics, OVERHEAD_FIELD_COUNT,
				     &o->has_statistics);
	}
}

/*
 * Reads the statistics of one process, as a profile holds only one; other recorders write several.
 */
static void read_statistics(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.overhead);

	json_for_each_element_if_any(&s, i) {
		if (!r->profile->overhead.has_statistics && json_cursor_peek(&s) == '{')
			read_process(r, &s);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(&s);
	}
}

static void read_log(struct import *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.log);
	struct profile_overhead *o = &r->profile->overhead;

	json_for_each_member_if_any(&s, key) {
		if (!o->has_log && json_cursor_peek(&s) == '{')
			read_numbers(&s, recording_moments, o->log, MOMENT_COUNT, &o->has_log);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(&s);
	}
}

void import_overhead(struct import *r)
{
	read_statistics(r);
	read_log(r);
}

/* Category positions are bytes, and one value means none. */
#define CATEGORIES_MAX UINT8_MAX

/* Times found only in meta, ns; 0: missing. */
struct meta_times {
	struct span events; /* FIREFOX_EVENTS */
	uint64_t start, end; /* times since the Unix epoch */
	uint64_t duration;
	uint64_t recording_start; /* CLOCK_NO_TIME if missing */
};

static bool read_text(struct import *r, struct json_cursor *s, struct span key)
{
	static const struct {
		const char *key;
		size_t offset;
	} texts[] = {
		{"product", offsetof(struct profile_meta, product)},
		{"arguments", offsetof(struct profile_meta, command_line)},
		{"oscpu", offsetof(struct profile_meta, os)},
		{"abi", offsetof(struct profile_meta, abi)},
		{"CPUName", offsetof(struct profile_meta, cpu_name)},
		{"importedFrom", offsetof(struct profile_meta, imported_from)},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char **to = (char **)((char *)&r->profile->meta + texts[i].offset);

		if (!span_is(s, key, texts[i].key) || *to || json_cursor_peek(s) != '"')
			continue;
		*to = json_cursor_text(s);
		return true;
	}
	return false;
}

static uint64_t read_machine(struct json_cursor *s, uint64_t max)
{
	return machine_number(layout_read_number(s), max);
}

static bool read_number(struct import *r, struct json_cursor *s, struct span key,
			struct meta_times *times)
{
	struct profile_meta *meta = &r->profile->meta;

	if (span_is(s, key, "physicalCPUs"))
		meta->physical_cpus = (uint32_t)read_machine(s, MACHINE_CPUS_MAX);
	else if (span_is(s, key, "logicalCPUs"))
		meta->logical_cpus = (uint32_t)read_machine(s, MACHINE_CPUS_MAX);
	else if (span_is(s, key, "mainMemory"))
		meta->memory_bytes = read_machine(s, MACHINE_BYTES_MAX);
	else if (span_is(s, key, "interval"))
		meta->interval_ns = import_time(s);
	else if (span_is(s, key, "startTime"))
		times->start = import_time(s);
	else if (span_is(s, key, "endTime"))
		times->end = import_time(s);
	else if (span_is(s, key, "profilingStartTime"))
		times->recording_start = import_instant(s);
	else if (span_is(s, key, "profilingEndTime"))
		times->duration = import_time(s);
	else
		return false;
	return true;
}

static void read_list(struct json_cursor *s, struct import *r,
		      void (*take)(struct import *r, char *text))
{
	json_for_each_element_if_any(s, i)
		take(r, json_cursor_text(s));
}

static void take_feature(struct import *r, char *text)
{
	vec_push(&r->profile->meta.features, text);
}

static void take_filter(struct import *r, char *text)
{
	vec_push(&r->profile->meta.filters, text);
}

static void read_configuration(struct import *r, struct json_cursor *s)
{
	json_for_each_member_if_any(s, key) {
		if (span_is(s, key, "features"))
			read_list(s, r, take_feature);
		else if (span_is(s, key, "threads"))
			read_list(s, r, take_filter);
		else if (span_is(s, key, "capacity")) /* in entries of 8 bytes */
			r->profile->meta.buffer_bytes = 8 * read_machine(s, MACHINE_BYTES_MAX / 8);
		else if (span_is(s, key, "duration")) /* in seconds */
			r->profile->meta.duration_limit_ns =
				1000 * machine_number(import_time(s), CLOCK_TIME_MAX / 1000);
		else
			r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
	}
}

static void read_units(struct import *r, struct json_cursor *s)
{
	json_for_each_member_if_any(s, key) {
		if (span_is(s, key, "threadCPUDelta")) {
			_cleanup_free_ char *unit = json_cursor_text(s);

			r->cpu_time_unit = !strcmp(unit, "ns") ? 1 : !strcmp(unit, "µs") ? 1000 : 0;
		}
	}
}

/*
 * True for keys that the writer derives from tables or always writes, or that are read elsewhere.
 */
static bool is_derived(const struct json_cursor *s, struct span key)
{
	static const char *const keys[] = {"version",
					   "shutdownTime",
					   "preprocessedProfileVersion",
					   "processType",
					   "stackwalk",
					   "updateChannel",
					   "sourceCodeIsNotOnSearchfox",
					   "usesOnlyOneStackType",
					   "keepProfileThreadOrder",
					   "initialVisibleThreads",
					   "initialSelectedThreads",
					   "symbolicationNotSupported",
					   "categories",
					   "markerSchema",
					   "extra",
					   NULL};

	return span_is_one_of(s, key, keys);
}

/* Adds the writer's description of an event. */
static void describe_event(struct import *r, const char *name, const struct event_count *from,
			   const char *unit)
{
	uint8_t event = import_event(r, name);
	struct event_count *into = event_counts_get(&r->profile->events, event);

	if (!event)
		return;
	if (*unit)
		into->unit = strings_intern(&r->profile->strings, unit);
	into->period = from->period;
	into->is_default = from->is_default;
	into->is_derived = from->is_derived;
}

static void read_event(struct import *r, struct json_cursor *s)
{
	static const char *const names[] = {"name",	 "unit",      "period", "isExact",
					    "isDefault", "isDerived", NULL};
	struct span spans[6] = {{0}};
	struct event_count row = {0};
	double period;
	_cleanup_free_ char *name = NULL, *unit = NULL;

	json_cursor_find(*s, names, spans);
	name = json_members_text_at(&r->layout.cursor, spans[0]);
	unit = json_members_text_at(&r->layout.cursor, spans[1]);
	row.is_default = spans[4].end;
	row.is_derived = spans[5].end;
	period = json_members_number_at(&r->layout.cursor, spans[2]);
	if (spans[3].end)
		row.period = EVENT_IS_EXACT;
	else if (period > 0 && period < (double)INT64_MAX)
		row.period = (uint64_t)period;
	/* The clock has no name. */
	if (*name)
		describe_event(r, name, &row, unit);
	else
		r->profile->meta.sample_ticks = row.period;
}

/* Runs after the features, which number the events of a recording. */
static void read_events(struct import *r, struct span span)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, span);

	if (!span.end)
		return;
	json_for_each_element_if_any(&s, i) {
		if (json_cursor_peek(&s) == '{')
			read_event(r, &s);
	}
}

static void read_member(struct import *r, struct json_cursor *s, struct span key,
			struct meta_times *times)
{
	if (read_text(r, s, key) || read_number(r, s, key, times))
		return;
	if (span_is(s, key, "startTimeAsClockMonotonicNanosecondsSinceBoot"))
		r->profile->meta.start_ns = layout_read_number(s);
	else if (span_is(s, key, "configuration"))
		read_configuration(r, s);
	else if (span_is(s, key, "sampleUnits"))
		read_units(r, s);
	else if (span_is(s, key, FIREFOX_EVENTS))
		json_cursor_value(s, &times->events);
	else if (span_is(s, key, "symbolicated") || span_is(s, key, "presymbolicated"))
		r->profile->meta.symbolicated = import_skip(s);
	else if (!is_derived(s, key))
		r->counts->unread[UNREAD_MEMBERS] += import_skip(s);
}

/*
 * Wall clock times are rounded to the precision of a double. Start and end together narrow the
 * start down: it must fit the end as well.
 */
static uint64_t find_start(const struct meta_times *times)
{
	const uint64_t half = 500;
	uint64_t other = times->end > times->duration ? times->end - times->duration : 0;
	uint64_t low = times->start > other ? times->start : other;
	uint64_t high = times->start > other ? other : times->start;

	if (!times->end || low - high >= 2 * half)
		return times->start;
	return low - (low - high) / 2;
}

/* Front-ends draw nothing in a colour that they do not have. */
static bool is_category_color(const char *color)
{
	static const char *const colors[] = {
		"transparent", "purple",  "green", "orange",   "yellow",   "lightblue", "blue",
		"brown",       "magenta", "red",   "lightred", "darkgrey", "grey",
	};

	return color && array_find(colors, it, strcmp(*it, color) == 0);
}

static void add_category(struct import *r, struct profile_category *category)
{
	if (!category->name)
		category->name = xstrdup("");
	if (!is_category_color(category->color)) {
		free(category->color);
		category->color = xstrdup("grey");
	}
	if (!category->subcategories.count)
		vec_push(&category->subcategories, xstrdup("Other"));
	vec_push(&r->profile->categories, *category);
}

static void read_category(struct import *r, struct json_cursor *s)
{
	struct profile_category category = {0};

	json_for_each_member(s, key) {
		if (span_is(s, key, "name") && !category.name)
			category.name = json_cursor_text(s);
		else if (span_is(s, key, "color") && !category.color)
			category.color = json_cursor_text(s);
		else if (span_is(s, key, "subcategories") && !category.subcategories.count &&
			 json_cursor_peek(s) == '[')
			json_for_each_element(s, i)
				vec_push(&category.subcategories, json_cursor_text(s));
	}
	add_category(r, &category);
}

/* Front-ends need a default category for frames: the first grey one. */
static void add_default_category(struct import *r)
{
	struct profile_category other = {0};
	size_t count = r->profile->categories.count;

	if (!count || count == CATEGORIES_MAX)
		return;
	vec_for_each(&r->profile->categories, const struct profile_category *, category) {
		if (strcmp(category->color, "grey") == 0)
			return;
	}
	other.name = xstrdup("Other");
	add_category(r, &other);
}

static int import_categories(struct import *r, struct json_cursor *s, struct error *err)
{
	if (json_cursor_peek(s) != '[')
		return 0;
	json_for_each_element(s, i) {
		if (json_cursor_peek(s) != '{' || r->profile->categories.count == CATEGORIES_MAX)
			return error_text(err, -EBADMSG, "meta.categories[%zu] is not a category",
					  r->profile->categories.count);
		read_category(r, s);
	}
	add_default_category(r);
	return 0;
}

int import_old_categories(struct import *r, struct error *err)
{
	static const char names[] = "[{\"name\":\"Idle\",\"color\":\"transparent\"},"
				    "{\"name\":\"Other\",\"color\":\"grey\"},"
				    "{\"name\":\"JavaScript\",\"color\":\"yellow\"},"
				    "{\"name\":\"Layout\",\"color\":\"purple\"},"
				    "{\"name\":\"Graphics\",\"color\":\"green\"},"
				    "{\"name\":\"DOM\",\"color\":\"blue\"},"
				    "{\"name\":\"GC / CC\",\"color\":\"orange\"},"
				    "{\"name\":\"Network\",\"color\":\"lightblue\"}]";
	struct json_cursor s;

	if (r->profile->categories.count)
		return 0;
	json_cursor_init(&s, names, sizeof(names) - 1);
	return import_categories(r, &s, err);
}

static int read_categories(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.categories);

	return r->layout.categories.end ? import_categories(r, &s, err) : 0;
}

int import_meta(struct import *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.meta);
	struct profile_meta *meta = &r->profile->meta;
	struct meta_times times = {.recording_start = CLOCK_NO_TIME};

	meta->symbolicated = !r->is_gecko;
	json_for_each_member(&s, key)
		read_member(r, &s, key, &times);
	meta->start_realtime_ns = find_start(&times);
	if (!clock_can_show(meta->start_ns))
		meta->start_ns = 0;
	if (times.recording_start < times.duration)
		r->recorded = (struct time_range){times.recording_start, times.duration};
	r->counts->unread[UNREAD_MEMBERS] += r->layout.other_count;
	import_extra(r);
	read_events(r, times.events);
	return read_categories(r, err);
}

void import_set_range(struct import *r)
{
	uint64_t start = r->profile->meta.start_ns;
	const struct time_range told = {start + r->recorded.start, start + r->recorded.end};

	profile_set_range(r->profile, r->recorded.end ? &told : NULL);
}

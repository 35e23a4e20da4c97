/* SPDX-License-Identifier: MIT */
#include "lib/format/pprof_read.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/format/pprof_internal.h"
#include "lib/format/pprof_fields.h"
#include "lib/format/protobuf.h"

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the pprof profile is damaged: %s", what);
}

static bool string_is(const struct pprof_reader *r, uint64_t number, const char *text)
{
	_cleanup_free_ char *string = pprof_string(r, number);

	return strcmp(string, text) == 0;
}

/* Keeps the first of several rows with the same id. The id is field 1 of each. */
static void add_row(struct pprof_rows *rows, struct protobuf_cursor bytes)
{
	struct pprof_row row = {.bytes = bytes, .module = NO_MODULE};
	struct protobuf_cursor s = bytes;
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (field.number == LOCATION_ID && !field.is_bytes)
			row.id = field.value;
	}
	if (pprof_find(rows, row.id) || rows->list.count >= UINT32_MAX)
		return;
	index_add(&rows->index, hash_u64(row.id), (uint32_t)rows->list.count);
	vec_push(&rows->list, row);
}

static bool add_type(struct pprof_reader *r, struct protobuf_cursor s)
{
	struct pprof_type *type = &r->types[r->type_count];
	struct protobuf_field field;

	if (r->type_count == TYPES_MAX)
		return false;
	*type = (struct pprof_type){0};
	while (protobuf_next(&s, &field)) {
		if (field.number == VALUE_TYPE)
			type->type = field.value;
		else if (field.number == VALUE_UNIT)
			type->unit = field.value;
	}
	r->type_count++;
	return true;
}

static void take_number(struct pprof_reader *r, const struct protobuf_field *field)
{
	switch (field->number) {
	case PROFILE_TIME_NANOS:
		r->time_ns = field->value;
		break;
	case PROFILE_DURATION_NANOS:
		r->duration_ns = field->value;
		break;
	case PROFILE_PERIOD:
		r->period = field->value;
		break;
	case PROFILE_COMMENT:
		r->comment = field->value;
		break;
	case PROFILE_DEFAULT_SAMPLE_TYPE:
		r->default_type = field->value;
		break;
	default:
		break;
	}
}

static int find_messages(struct pprof_reader *r, const char *text, size_t size, struct error *err)
{
	struct protobuf_cursor s = protobuf_cursor_of(text, size);
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (!field.is_bytes)
			take_number(r, &field);
		else if (field.number == PROFILE_SAMPLE_TYPE && !add_type(r, field.bytes))
			return damaged(err, "too many sample types");
		else if (field.number == PROFILE_SAMPLE)
			vec_push(&r->samples, field.bytes);
		else if (field.number == PROFILE_MAPPING)
			add_row(&r->mappings, field.bytes);
		else if (field.number == PROFILE_LOCATION)
			add_row(&r->locations, field.bytes);
		else if (field.number == PROFILE_FUNCTION)
			add_row(&r->functions, field.bytes);
		else if (field.number == PROFILE_STRING_TABLE)
			vec_push(&r->strings, field.bytes);
	}
	if (s.failed)
		return error_text(err, -EBADMSG,
				  "the pprof profile is damaged or truncated at byte %zu",
				  (size_t)(s.at - (const uint8_t *)text));
	return r->type_count ? 0 : damaged(err, "no sample type");
}

bool pprof_is_unit(const char *text)
{
	static const char *const units[] = {
		"bytes",	"kilobytes",	"megabytes", "nanoseconds",
		"microseconds", "milliseconds", "seconds",   "objects",
		"cycles",	"instructions", NULL};

	for (size_t i = 0; units[i]; i++) {
		if (strcmp(text, units[i]) == 0)
			return true;
	}
	return false;
}

/* Reads the numbers of one field, packed or not. */
static bool take_numbers(const struct protobuf_field *field, struct protobuf_cursor *s,
			 uint64_t *number)
{
	if (field->is_bytes)
		return protobuf_take(s, number);
	if (s->at == s->end)
		return false;
	*number = field->value;
	s->at = s->end;
	return true;
}

#define FOR_NUMBERS(field, number) \
	for (struct protobuf_cursor s_ = (field)->is_bytes ? (field)->bytes \
							   : protobuf_cursor_of("", 1); \
	     take_numbers(field, &s_, &(number));)

static int read_values(struct pprof_reader *r, struct protobuf_cursor s, struct error *err)
{
	struct protobuf_field field;
	uint64_t number;

	vec_clear(&r->path);
	vec_clear(&r->values);
	while (protobuf_next(&s, &field)) {
		if (field.number == SAMPLE_LOCATION_ID)
			FOR_NUMBERS(&field, number)
		vec_push(&r->path, number);
		else if (field.number == SAMPLE_VALUE) FOR_NUMBERS(&field, number)
			vec_push(&r->values, number);
	}
	return s.failed || r->values.count != r->type_count
		       ? damaged(err, "a sample has too many or too few values")
		       : 0;
}

/*
 * Finds the clock: a type that counts, beside a time type that is always its multiple. Each of its
 * samples stands for a period.
 */
static int find_clock(struct pprof_reader *r, struct error *err)
{
	size_t time = SIZE_MAX, count = SIZE_MAX;
	int ret = 0;

	r->clock = -1;
	for (size_t i = 0; i < r->type_count; i++) {
		if (time == SIZE_MAX && string_is(r, r->types[i].unit, "nanoseconds"))
			time = i;
		if (count == SIZE_MAX && string_is(r, r->types[i].unit, "count"))
			count = i;
	}
	if (time == SIZE_MAX || count == SIZE_MAX || !r->period || r->period > INT64_MAX / 1024)
		return 0;
	for (size_t i = 0; i < r->samples.count && !ret; i++) {
		uint64_t product;

		ret = read_values(r, r->samples.items[i], err);
		if (!ret && (__builtin_mul_overflow(r->values.items[count], r->period, &product) ||
			     product != r->values.items[time]))
			return 0;
	}
	r->clock = (int)count;
	r->types[time].is_dropped = true;
	return ret;
}

static void name_events(struct pprof_reader *r)
{
	for (size_t i = 0; i < r->type_count; i++) {
		_cleanup_free_ char *type = pprof_string(r, r->types[i].type);
		_cleanup_free_ char *unit = pprof_string(r, r->types[i].unit);
		_cleanup_free_ char *name = pprof_is_unit(unit) ? xasprintf("%s/%s", type, unit)
								: xstrdup(type);

		if ((int)i == r->clock || r->types[i].is_dropped)
			continue;
		r->types[i].event = foreign_event(&r->f, name);
		r->types[i].is_dropped = !r->types[i].event;
	}
}

struct labels {
	uint32_t pid, tid;
	char *thread; /* owned */
	struct strbuf others;
};

static void read_label(const struct pprof_reader *r, struct protobuf_cursor s,
		       struct labels *labels)
{
	uint64_t key = 0, text = 0, number = 0;
	_cleanup_free_ char *key_text = NULL, *value = NULL;
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (field.number == LABEL_KEY)
			key = field.value;
		else if (field.number == LABEL_STR)
			text = field.value;
		else if (field.number == LABEL_NUM)
			number = field.value;
	}
	key_text = pprof_string(r, key);
	if (!text && strcmp(key_text, "pid") == 0)
		labels->pid = (uint32_t)number;
	else if (!text && (strcmp(key_text, "tid") == 0 || strcmp(key_text, "thread id") == 0))
		labels->tid = (uint32_t)number;
	/* Other numbers are sizes and addresses. */
	if (!text)
		return;
	value = pprof_string(r, text);
	if (!labels->thread && strcmp(key_text, "thread") == 0)
		labels->thread = steal(value);
	else
		strbuf_addf(&labels->others, "%s%s=%s", labels->others.size ? " " : "", key_text,
			    value);
}

static thread_id find_thread(struct pprof_reader *r, struct protobuf_cursor s)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	struct labels labels = {0};
	struct protobuf_field field;
	thread_id id;

	while (protobuf_next(&s, &field)) {
		if (field.number == SAMPLE_LABEL && field.is_bytes)
			read_label(r, field.bytes, &labels);
	}
	if (labels.thread)
		strbuf_adds(&name, labels.thread);
	if (labels.others.size)
		strbuf_addf(&name, "%s%s", name.size ? " " : "", labels.others.text);
	id = foreign_thread(&r->f, labels.pid, labels.tid, r->f.profile->meta.product,
			    name.size ? strbuf_text(&name) : "all", true);
	free(labels.thread);
	strbuf_release(&labels.others);
	return id;
}

static stack_id find_stack(struct pprof_reader *r)
{
	struct stacks *stacks = &r->f.profile->stacks;
	stack_id stack = NO_STACK;

	for (size_t i = r->path.count; i-- > 0;) {
		const struct pprof_row *row = pprof_find(&r->locations, r->path.items[i]);

		for (uint32_t at = 0; row && at < row->count; at++)
			stack = stacks_intern(stacks, stack, r->frames.items[row->first + at]);
	}
	return stack;
}

static int add_sample(struct pprof_reader *r, struct protobuf_cursor bytes, struct error *err)
{
	int ret = read_values(r, bytes, err);
	thread_id thread;
	stack_id stack;

	if (ret)
		return ret;
	thread = find_thread(r, bytes);
	stack = find_stack(r);
	for (size_t i = 0; i < r->type_count; i++) {
		uint64_t value = r->values.items[i];

		if (r->types[i].is_dropped)
			continue;
		if ((int64_t)value < 0)
			r->f.counts->unread[UNREAD_WEIGHTS]++;
		else
			foreign_sample(&r->f, thread, r->types[i].event, r->f.now, stack, value);
	}
	/* Other events have no duration. */
	foreign_pass(&r->f, r->clock >= 0 ? r->values.items[r->clock] : 1);
	return 0;
}

/* The first mapping is the program. */
static void read_meta(struct pprof_reader *r)
{
	struct profile_meta *meta = &r->f.profile->meta;
	_cleanup_free_ char *path = NULL;
	const char *slash;

	if (r->mappings.list.count)
		path = pprof_string(r, pprof_mapping(&r->mappings.list.items[0]).filename);
	slash = path ? strrchr(path, '/') : NULL;
	meta->product = xstrdup(path && *path ? (slash ? slash + 1 : path) : "pprof");
	if (r->comment)
		meta->command_line = pprof_string(r, r->comment);
	meta->start_realtime_ns = r->time_ns;
	meta->interval_ns = r->clock >= 0 ? r->period : 1000000;
}

/* Threads may have run in parallel: the duration can be less than the sum of their samples. */
static void set_duration(struct pprof_reader *r)
{
	if (clock_can_show(r->duration_ns) && r->duration_ns > r->f.now)
		r->f.now = r->duration_ns;
}

static int read_file(struct pprof_reader *r, const char *text, size_t size, struct error *err)
{
	int ret = find_messages(r, text, size, err);

	if (!ret)
		ret = find_clock(r, err);
	if (ret)
		return ret;
	read_meta(r);
	name_events(r);
	vec_for_each(&r->locations.list, struct pprof_row *, row)
		pprof_add_location(r, row);
	for (size_t i = 0; i < r->samples.count && !ret; i++)
		ret = add_sample(r, r->samples.items[i], err);
	if (!ret)
		set_duration(r);
	if (!ret)
		ret = foreign_finish(&r->f, false, err);
	return ret;
}

int pprof_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err)
{
	struct import_counts own;
	struct pprof_reader r = {0};
	int ret;

	foreign_init(&r.f, counts, &own);
	ret = read_file(&r, text, size, err);
	if (!ret)
		*p = r.f.profile;
	foreign_release(&r.f, ret);
	vec_release(&r.mappings.list);
	vec_release(&r.locations.list);
	vec_release(&r.functions.list);
	index_release(&r.mappings.index);
	index_release(&r.locations.index);
	index_release(&r.functions.index);
	vec_release(&r.strings);
	vec_release(&r.samples);
	vec_release(&r.frames);
	vec_release(&r.path);
	vec_release(&r.values);
	return ret;
}

/* All fields are known, and the strings begin with an empty one. */
bool pprof_matches(const char *text, size_t size)
{
	struct protobuf_cursor s = protobuf_cursor_of(text, size);
	bool has_type = false;
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		bool is_number = field.number >= PROFILE_TIME_NANOS ||
				 field.number == PROFILE_STRING_TABLE + 1 ||
				 field.number == PROFILE_STRING_TABLE + 2;

		if (field.number > PROFILE_DEFAULT_SAMPLE_TYPE + 1)
			return false;
		if (!field.is_bytes && !is_number)
			return false;
		has_type |= field.number == PROFILE_SAMPLE_TYPE;
		/* Reading decides the rest. */
		if (field.number == PROFILE_STRING_TABLE && has_type)
			return field.bytes.at == field.bytes.end;
	}
	return !s.failed && has_type && size;
}

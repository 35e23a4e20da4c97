/* SPDX-License-Identifier: MIT */
/*
 * Profiles of OpenTelemetry as their protocol sends them (v1development): one message, or several,
 * each after its size. The tables of a message hold what its samples refer to by number.
 */
#include "lib/format/foreign.h"

#include <math.h>

#include "lib/base/bytes.h"
#include "lib/base/protobuf.h"
#include "lib/base/quote.h"
#include "lib/model/meaning/recording_markers.h"

/* Fields of the messages, by their numbers in profiles.proto. */
enum table { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS, TABLES_END };
enum { DATA_RESOURCE = 1, DATA_DICTIONARY };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPE, RESOURCE_SCHEMA };
enum { SCOPE_PROFILE = 2 };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_TIME, PROFILE_DURATION, PROFILE_PERIOD_TYPE };
enum { PROFILE_PERIOD = 6, PROFILE_ATTRIBUTES = 11 };
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };
enum { MAPPING_START = 1, MAPPING_LIMIT, MAPPING_OFFSET, MAPPING_NAME, MAPPING_ATTRIBUTES };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINE, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };
enum { LINK_TRACE = 1, LINK_SPAN };
/* The third field is the unit in a table's pairs; in others, the key if that is a number. */
enum { PAIR_KEY = 1, PAIR_VALUE, PAIR_UNIT, PAIR_KEY_NUMBER = PAIR_UNIT };
enum { STACK_LOCATIONS = 1 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { VALUE_TEXT = 1, VALUE_BOOL, VALUE_INTEGER, VALUE_TEXT_NUMBER = 8 };

#define PREFIX_SIZE 4
/* Shorter periods are not taken for the interval of a clock. */
#define PERIOD_MIN_NS 10000
#define RESOURCE_TEXT_MAX 4096
/* Stacks need a byte for each of their locations, which have few inlined functions. */
#define FRAMES_PER_BYTE 16

/* Subjects of attributes; all others are labels. */
enum subject {
	THREAD_ID,
	THREAD_NAME,
	PROCESS_ID,
	PROCESS_NAME,
	PROCESS_PATH,
	CPU,
	BUILD_ID,
	FRAME_TYPE,
	SERVICE,
	CONTAINER,
	LABEL
};

static const char *const subjects[LABEL] = {
	[THREAD_ID] = "thread.id",
	[THREAD_NAME] = "thread.name",
	[PROCESS_ID] = "process.pid",
	[PROCESS_NAME] = "process.executable.name",
	[PROCESS_PATH] = "process.executable.path",
	[CPU] = "cpu.logical_number",
	[BUILD_ID] = "process.executable.build_id.gnu",
	[FRAME_TYPE] = "profile.frame.type",
	[SERVICE] = "service.name",
	[CONTAINER] = "container.id",
};

struct attribute {
	enum subject subject;
	struct label_marker is; /* texts are owned */
	bool has_marker;
	struct marker marker; /* those of equal labels share their values */
};

struct location {
	uint32_t first, count; /* frames, outermost first */
	bool is_known;
};

struct known_stack {
	stack_id id;
	bool is_known;
};

/* Properties of all samples of a profile. */
struct head {
	struct protobuf_cursor type, period_type; /* messages */
	uint64_t period, time, duration;
};

/* Identity of a sample; texts are borrowed. */
struct sample_origin {
	uint32_t pid, tid;
	uint16_t cpu;
	const char *thread, *process;
	const char *group; /* service or container, of processes that are not told apart */
};

/* A sample, until all those of its message are in order of time. */
struct row {
	thread_id thread;
	struct sample sample;
	uint64_t weight;
};

struct protobuf_list {
	VEC(struct protobuf_cursor) rows;
};

struct otlp_reader {
	struct foreign f;
	/* The message: its tables, and what was made of their rows. */
	struct protobuf_list tables[TABLES_END];
	VEC(struct attribute) attributes;
	struct location *locations;
	struct known_stack *stacks;
	module_id *modules; /* by number of a mapping; NO_MODULE: not known yet */
	VEC(frame_id) frames;
	VEC(struct row) rows;
	/* The current sample. */
	VEC(uint64_t) values, times;
	VEC(uint32_t) labels; /* numbers of attributes */
	/* The whole file: it is read twice. Times are ns since 1970. */
	bool is_first_pass, has_times, lacks_times;
	uint64_t start, end;
	/* Limits: hostile files could repeat a location's frames, and a sample's labels. */
	size_t frames_max, labels_max;
	VEC(uint64_t) ticks; /* by profile: value of a sample of the clock; 0: another event */
	size_t profiles_read;
	double length_ns; /* sum of the clock's samples */
};

static char *text_of(const struct otlp_reader *r, uint64_t number)
{
	return number < r->tables[STRINGS].rows.count
		       ? protobuf_text(&r->tables[STRINGS].rows.items[number])
		       : xstrdup("");
}

/* Returns a row of a table, empty if there is none. */
static struct protobuf_cursor row_of(const struct otlp_reader *r, enum table table, uint64_t number)
{
	return number < r->tables[table].rows.count ? r->tables[table].rows.items[number]
						    : protobuf_cursor_of("", 0);
}

/* Returns the number, or message, in a field of a message; the last one if there are several. */
static struct protobuf_field field_of(struct protobuf_cursor s, uint32_t number)
{
	struct protobuf_field field, found = {.bytes = protobuf_cursor_of("", 0)};

	while (protobuf_next(&s, &field)) {
		if (field.number == number)
			found = field;
	}
	return found;
}

/* Attributes. */

/* Lists have no text: they are left out. */
static bool read_value(const struct otlp_reader *r, struct protobuf_cursor s,
		       struct label_marker *label)
{
	struct protobuf_field field;

	if (!protobuf_next(&s, &field))
		return false;
	if (field.number == VALUE_TEXT && field.is_bytes)
		label->text = protobuf_text(&field.bytes);
	else if (field.number == VALUE_TEXT_NUMBER)
		label->text = text_of(r, field.value);
	else if (field.number == VALUE_BOOL)
		label->text = xstrdup(field.value ? "true" : "false");
	else if (field.number == VALUE_INTEGER)
		label->number = (int64_t)field.value;
	else
		return false;
	return true;
}

/* Reads a pair of key and value; keys of tables are numbers. Free it, even on failure. */
static bool read_attribute(const struct otlp_reader *r, struct protobuf_cursor s,
			   struct attribute *out)
{
	struct protobuf_field key = field_of(s, PAIR_KEY);

	*out = (struct attribute){.subject = THREAD_ID};
	out->is.key = key.is_bytes ? protobuf_text(&key.bytes)
				   : text_of(r, key.value ? key.value
							  : field_of(s, PAIR_KEY_NUMBER).value);
	out->is.unit = key.is_bytes ? xstrdup("") : text_of(r, field_of(s, PAIR_UNIT).value);
	while (out->subject < LABEL && strcmp(out->is.key, subjects[out->subject]) != 0)
		out->subject++;
	return read_value(r, field_of(s, PAIR_VALUE).bytes, &out->is) && *out->is.key;
}

static void free_attribute(struct attribute *attribute)
{
	free((char *)attribute->is.key);
	free((char *)attribute->is.unit);
	free((char *)attribute->is.text);
}

/* Returns false for labels. */
static bool take_identity(struct sample_origin *who, const struct attribute *attribute)
{
	const struct label_marker *is = &attribute->is;

	if (!is->text && (is->number < 0 || is->number > INT32_MAX))
		return attribute->subject < SERVICE;
	if (attribute->subject == THREAD_ID || (attribute->subject == THREAD_NAME && is->number))
		who->tid = (uint32_t)is->number;
	else if (attribute->subject == PROCESS_ID)
		who->pid = (uint32_t)is->number;
	else if (attribute->subject == CPU && is->number < NO_CPU)
		who->cpu = (uint16_t)is->number;
	if (attribute->subject == THREAD_NAME && is->text && *is->text)
		who->thread = is->text;
	else if (attribute->subject == PROCESS_NAME)
		who->process = is->text;
	else if (is->text && *is->text && (attribute->subject == SERVICE || !who->group))
		who->group = is->text;
	return attribute->subject < SERVICE;
}

static void take_attributes(struct otlp_reader *r, struct protobuf_field field,
			    struct sample_origin *who)
{
	uint64_t number;

	while (protobuf_take_of(&field, false, &number)) {
		if (number < r->attributes.count && *r->attributes.items[number].is.key &&
		    !take_identity(who, &r->attributes.items[number]) &&
		    r->labels.count < SAMPLE_LABELS_MAX)
			vec_push(&r->labels, (uint32_t)number);
	}
}

/* Returns the text of the first of a row's attributes with that subject; NULL: none. */
static const char *attribute_of(const struct otlp_reader *r, struct protobuf_field field,
				enum subject subject)
{
	uint64_t number;

	while (protobuf_take_of(&field, false, &number)) {
		if (number < r->attributes.count && r->attributes.items[number].subject == subject)
			return r->attributes.items[number].is.text;
	}
	return NULL;
}

/* Stacks. */

static void place(struct otlp_reader *r, uint64_t number, struct foreign_frame *frame)
{
	struct protobuf_cursor s = row_of(r, MAPPINGS, number);
	uint64_t start = field_of(s, MAPPING_START).value;
	uint64_t offset = field_of(s, MAPPING_OFFSET).value;
	_cleanup_free_ char *path = NULL;
	const char *build_id;

	frame->module = NO_MODULE;
	if (!number || number >= r->tables[MAPPINGS].rows.count)
		return;
	if (r->modules[number] == NO_MODULE) {
		path = text_of(r, field_of(s, MAPPING_NAME).value);
		build_id = attribute_of(r, field_of(s, MAPPING_ATTRIBUTES), BUILD_ID);
		r->modules[number] = foreign_module(&r->f, path, build_id ? build_id : "");
		foreign_segment(&r->f, r->modules[number], start, field_of(s, MAPPING_LIMIT).value,
				offset);
	}
	frame->module = r->modules[number];
	if (frame->module != NO_MODULE && frame->address >= start)
		frame->address = frame->address - start + offset;
}

static frame_id add_line(struct otlp_reader *r, struct foreign_frame frame,
			 struct protobuf_cursor line)
{
	struct protobuf_cursor s = row_of(r, FUNCTIONS, field_of(line, LINE_FUNCTION).value);
	uint64_t name = field_of(s, FUNCTION_NAME).value;
	_cleanup_free_ char *text = text_of(r,
					    name ? name : field_of(s, FUNCTION_SYSTEM_NAME).value);
	_cleanup_free_ char *file = text_of(r, field_of(s, FUNCTION_FILE).value);

	/* Classes of async-profiler have marks that state how they were allocated. */
	if (foreign_mark(text, strlen(text)))
		text[strlen(text) - 4] = '\0';
	frame.name = text;
	frame.file = file;
	frame.line = foreign_place(field_of(line, LINE_LINE).value);
	frame.func_line = foreign_place(field_of(s, FUNCTION_LINE).value);
	return foreign_frame(&r->f, &frame);
}

/* Finds the frames of a location. In the file, the innermost of its lines is the first. */
static const struct location *location_of(struct otlp_reader *r, uint64_t number)
{
	struct protobuf_cursor s = row_of(r, LOCATIONS, number);
	struct foreign_frame frame = {.address = field_of(s, LOCATION_ADDRESS).value};
	struct location *location = &r->locations[number];
	VEC(struct protobuf_cursor) lines = {0};
	struct protobuf_field field;
	const char *type;

	if (location->is_known)
		return location;
	type = attribute_of(r, field_of(s, LOCATION_ATTRIBUTES), FRAME_TYPE);
	while (protobuf_next(&s, &field)) {
		if (field.number == LOCATION_LINE && field.is_bytes)
			vec_push(&lines, field.bytes);
	}
	frame.is_kernel = type && strcmp(type, "kernel") == 0;
	frame.is_js = type && strcmp(type, "v8js") == 0;
	place(r, field_of(row_of(r, LOCATIONS, number), LOCATION_MAPPING).value, &frame);
	/* Interpreters have lines in place of addresses. */
	if (lines.count && frame.module == NO_MODULE && !frame.is_kernel)
		frame.address = 0;
	*location = (struct location){(uint32_t)r->frames.count, 1, true};
	if (!lines.count)
		vec_push(&r->frames, foreign_frame(&r->f, &frame));
	else
		location->count = (uint32_t)lines.count;
	for (size_t i = lines.count; i-- > 0;) {
		size_t depth = lines.count - 1 - i;

		frame.inline_depth = (uint16_t)(depth < UINT8_MAX ? depth : UINT8_MAX);
		vec_push(&r->frames, add_line(r, frame, lines.items[i]));
	}
	vec_release(&lines);
	return location;
}

static stack_id stack_of(struct otlp_reader *r, uint64_t number)
{
	struct protobuf_field field = field_of(row_of(r, STACKS, number), STACK_LOCATIONS);
	VEC(uint32_t) path = {0};
	struct known_stack *known;
	stack_id stack = NO_STACK;
	uint64_t location;

	if (number >= r->tables[STACKS].rows.count)
		return NO_STACK;
	known = &r->stacks[number];
	if (known->is_known)
		return known->id;
	while (protobuf_take_of(&field, false, &location)) {
		if (location && location < r->tables[LOCATIONS].rows.count)
			vec_push(&path, (uint32_t)location);
	}
	for (size_t i = path.count; i-- > 0;) {
		const struct location row = *location_of(r, path.items[i]);

		for (uint32_t at = 0; at < row.count && r->frames_max; at++, r->frames_max--)
			stack = stacks_intern(&r->f.profile->stacks, stack,
					      r->frames.items[row.first + at]);
	}
	vec_release(&path);
	*known = (struct known_stack){stack, true};
	return stack;
}

/* Samples. */

static bool has_room_for_label(struct otlp_reader *r)
{
	r->f.counts->unread[UNREAD_MARKERS] += !r->labels_max;
	return r->labels_max && r->labels_max--;
}

static void add_label(struct otlp_reader *r, thread_id thread, struct attribute *attribute,
		      uint64_t start, uint64_t end)
{
	if (!attribute->has_marker)
		attribute->marker = label_marker_make(r->f.profile, &attribute->is, 0, 0);
	attribute->has_marker = true;
	if (attribute->marker.schema == NO_SCHEMA || !has_room_for_label(r))
		return;
	attribute->marker.start = start;
	attribute->marker.end = end;
	vec_push(&threads_get(&r->f.profile->threads, thread)->markers, attribute->marker);
}

static void add_id(struct otlp_reader *r, thread_id thread, const char *key,
		   struct protobuf_cursor id, uint64_t start, uint64_t end)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (const uint8_t *at = id.at; at < id.end; at++)
		strbuf_addf(&text, "%02x", *at);
	if (text.size && has_room_for_label(r))
		label_marker_add(r->f.profile, thread,
				 &(struct label_marker){key, "", strbuf_text(&text), 0, 0}, start,
				 end);
}

/* Returns the weight of one of the sample's times: a value each, a part of a sum, or one each. */
static uint64_t weight_of(const struct otlp_reader *r, size_t i)
{
	size_t count = r->times.count ? r->times.count : 1;
	uint64_t value = r->values.count == 1 ? r->values.items[0] : 0;

	if (!r->values.count)
		return 1;
	if (r->values.count > 1)
		return i < r->values.count ? r->values.items[i] : 0;
	return value / count + (i < value % count);
}

/* Adds the current sample, and its labels. */
static void add_sample(struct otlp_reader *r, thread_id thread, const struct sample *like,
		       uint64_t tick, uint64_t link)
{
	struct protobuf_cursor ids = link ? row_of(r, LINKS, link) : protobuf_cursor_of("", 0);
	size_t count = r->has_times ? r->times.count : 1;

	for (size_t i = 0; i < count; i++) {
		struct row row = {thread, *like, weight_of(r, i)};
		uint64_t start = r->f.now, end;

		if (row.weight > INT64_MAX) {
			r->f.counts->unread[UNREAD_WEIGHTS]++;
			continue;
		}
		row.weight /= tick ? tick : 1;
		if (r->has_times)
			start = r->times.items[i] - r->start;
		if (!r->has_times)
			foreign_pass(&r->f, tick ? row.weight : 1);
		end = r->has_times ? start + 1 : r->f.now;
		row.sample.time = start;
		vec_push(&r->rows, row);
		vec_for_each(&r->labels, const uint32_t *, label)
			add_label(r, thread, &r->attributes.items[*label], start, end);
		add_id(r, thread, "trace_id", field_of(ids, LINK_TRACE).bytes, start, end);
		add_id(r, thread, "span_id", field_of(ids, LINK_SPAN).bytes, start, end);
	}
}

/* Reads the values, times and labels of a sample; without times, the sum of the values. */
static int read_sample(struct otlp_reader *r, struct protobuf_cursor s, struct sample_origin *who,
		       struct error *err)
{
	uint64_t number, sum = 0;
	struct protobuf_field field;

	vec_clear(&r->values);
	vec_clear(&r->times);
	vec_clear(&r->labels);
	while (protobuf_next(&s, &field)) {
		if (field.number == SAMPLE_VALUES) {
			while (protobuf_take_of(&field, false, &number))
				vec_push(&r->values, number);
		} else if (field.number == SAMPLE_TIMES) {
			while (protobuf_take_of(&field, true, &number))
				vec_push(&r->times, number);
		} else if (field.number == SAMPLE_ATTRIBUTES && !r->is_first_pass) {
			take_attributes(r, field, who);
		}
	}
	if (s.failed)
		return error_text(err, -EBADMSG, "the OpenTelemetry profile is damaged");
	if (r->has_times)
		return 0;
	vec_for_each(&r->values, const uint64_t *, value)
		sum += *value;
	sum = r->values.count ? sum : r->times.count;
	vec_clear(&r->values);
	vec_push(&r->values, sum);
	vec_clear(&r->times);
	return 0;
}

static void extend(struct otlp_reader *r, uint64_t start, uint64_t length)
{
	if (start < r->start)
		r->start = start;
	if (start + length > r->end && start <= UINT64_MAX - length)
		r->end = start + length;
}

/*
 * Returns the value of one sample of a CPU's or a wall's clock, which stands for a period; 0: not
 * such a clock.
 */
static uint64_t tick_of(const struct otlp_reader *r, const struct head *head)
{
	static const char *const names[] = {"samples", "cpu", "wall", "itimer", "ctimer"};
	_cleanup_free_ char *name = text_of(r, field_of(head->type, TYPE_NAME).value);
	_cleanup_free_ char *unit = text_of(r, field_of(head->type, TYPE_UNIT).value);
	_cleanup_free_ char *of_period = text_of(r, field_of(head->period_type, TYPE_UNIT).value);
	uint64_t known = r->f.profile->meta.interval_ns;
	double ns;

	if (head->period < PERIOD_MIN_NS || head->period > INT64_MAX / 1024 ||
	    (known && known != head->period) || !array_find(names, it, strcmp(name, *it) == 0) ||
	    unit_measure(of_period, &ns) != MEASURE_TIME || ns != 1)
		return 0;
	if (unit_measure(unit, &ns) == MEASURE_TIME)
		return ns == 1 ? head->period : 0;
	return strcmp(unit, "count") == 0;
}

/* Finds out what all samples have in common. */
static int survey_profile(struct otlp_reader *r, const struct head *head, struct protobuf_cursor s,
			  struct error *err)
{
	struct protobuf_field field;
	uint64_t tick = tick_of(r, head);
	double length = 0;
	int ret = 0;

	if (head->time)
		extend(r, head->time, head->duration);
	while (!ret && protobuf_next(&s, &field)) {
		if (field.number != PROFILE_SAMPLE || !field.is_bytes)
			continue;
		r->has_times = true;
		ret = read_sample(r, field.bytes, NULL, err);
		vec_for_each(&r->times, const uint64_t *, time)
			extend(r, *time, 0);
		r->lacks_times |= !r->times.count;
		for (size_t i = 0; i < r->values.count; i++) {
			if (tick && (r->values.items[i] > INT64_MAX || r->values.items[i] % tick))
				tick = 0;
			length += (double)r->values.items[i];
		}
		if (!r->values.count)
			length += (double)r->times.count;
		infile_pass(s.at);
	}
	vec_push(&r->ticks, tick);
	if (tick) {
		r->f.profile->meta.interval_ns = head->period;
		r->length_ns += length / (double)tick * (double)head->period;
	}
	return ret;
}

static uint8_t event_of(struct otlp_reader *r, const struct head *head)
{
	_cleanup_free_ char *name = text_of(r, field_of(head->type, TYPE_NAME).value);
	_cleanup_free_ char *unit = text_of(r, field_of(head->type, TYPE_UNIT).value);
	_cleanup_free_ char *of_period = text_of(r, field_of(head->period_type, TYPE_UNIT).value);
	bool is_sampled = head->period && strcmp(unit, of_period) == 0;

	return foreign_measure(&r->f, *name ? name : "samples", unit,
			       is_sampled ? head->period : EVENT_IS_EXACT);
}

/* Keeps what the file says of a process with its main thread, in the form of the environment. */
static void add_resource(struct otlp_reader *r, thread_id id, struct protobuf_cursor s)
{
	struct profile *p = r->f.profile;
	schema_id schema = schema_text_intern(marker_schema(MARKER_RESOURCE), &p->markers.schemas,
					      &p->strings);
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct protobuf_field field;
	struct marker marker;

	while (protobuf_next(&s, &field) && text.size < RESOURCE_TEXT_MAX) {
		struct attribute a;

		if (field.number == RESOURCE_ATTRIBUTES && field.is_bytes) {
			if (read_attribute(r, field.bytes, &a) && a.is.text && *a.is.text &&
			    a.subject >= SERVICE) {
				strbuf_addf(&text, "%s%s=", text.size ? "," : "", a.is.key);
				quote_url(&text, a.is.text);
			}
			free_attribute(&a);
		}
	}
	if (schema == NO_SCHEMA || !text.size || text.size > RESOURCE_TEXT_MAX)
		return;
	marker = markers_make(&p->markers, schema, 0, 0);
	*marker_value(&p->markers, &marker, RESOURCE_TEXT) =
		marker_string(strings_intern(&p->strings, strbuf_text(&text)));
	vec_push(&threads_get(&p->threads, id)->markers, marker);
}

static thread_id thread_of(struct otlp_reader *r, const struct sample_origin *who,
			   struct protobuf_cursor resource)
{
	const struct threads *threads = &r->f.profile->threads;
	size_t known = threads->rows.count;
	const char *process = who->process ? who->process : who->group;
	const char *name = who->thread ? who->thread
			   : who->tid  ? NULL
			   : process   ? process
				       : FOREIGN_ALL;
	uint32_t pid = who->pid;
	thread_id id;

	/* A name in place of a pid: only its number is needed. */
	if (!pid && process)
		pid = strings_intern(&r->f.profile->strings, process);
	id = foreign_thread(&r->f, pid, who->tid, process ? process : r->f.profile->meta.product,
			    name, !who->tid);
	if (threads->rows.count > known && threads->rows.items[id].is_main)
		add_resource(r, id, resource);
	return id;
}

static int read_profile(struct otlp_reader *r, struct protobuf_cursor s, struct sample_origin who,
			struct protobuf_cursor resource, struct error *err)
{
	struct protobuf_cursor all = s;
	struct head head = {.type = protobuf_cursor_of("", 0),
			    .period_type = protobuf_cursor_of("", 0)};
	struct protobuf_field field;
	struct sample like = {.stack = NO_STACK};
	uint64_t tick;
	int ret = 0;

	while (protobuf_next(&s, &field)) {
		if (field.number == PROFILE_TIME && field.is_bytes)
			return error_text(err, -ENOTSUP,
					  "the OpenTelemetry profiles are of an older draft of "
					  "their format");
		if (field.number == PROFILE_TYPE)
			head.type = field.bytes;
		else if (field.number == PROFILE_PERIOD_TYPE)
			head.period_type = field.bytes;
		else if (field.number == PROFILE_TIME)
			head.time = field.value;
		else if (field.number == PROFILE_DURATION)
			head.duration = field.value;
		else if (field.number == PROFILE_PERIOD)
			head.period = field.value;
	}
	if (s.failed)
		return error_text(err, -EBADMSG, "the OpenTelemetry profile is damaged");
	if (r->is_first_pass)
		return survey_profile(r, &head, all, err);
	tick = r->ticks.items[r->profiles_read++];
	like.event = tick ? 0 : event_of(r, &head);
	while (!ret && (tick || like.event) && protobuf_next(&all, &field)) {
		struct sample_origin of_sample = who;

		if (field.number != PROFILE_SAMPLE || !field.is_bytes)
			continue;
		ret = read_sample(r, field.bytes, &of_sample, err);
		like.cpu = of_sample.cpu;
		like.stack = stack_of(r, field_of(field.bytes, SAMPLE_STACK).value);
		if (!ret)
			add_sample(r, thread_of(r, &of_sample, resource), &like, tick,
				   field_of(field.bytes, SAMPLE_LINK).value);
		infile_pass(all.at);
	}
	return ret;
}

static int read_resource(struct otlp_reader *r, struct protobuf_cursor s, struct error *err)
{
	struct protobuf_cursor resource = field_of(s, RESOURCE_RESOURCE).bytes, at = resource;
	struct sample_origin who = {.cpu = NO_CPU};
	VEC(struct attribute) own = {0};
	struct protobuf_field scope, profile;
	int ret = 0;

	while (protobuf_next(&at, &scope)) {
		struct attribute attribute;

		if (scope.number != RESOURCE_ATTRIBUTES || !scope.is_bytes)
			continue;
		if (read_attribute(r, scope.bytes, &attribute))
			take_identity(&who, &attribute);
		vec_push(&own, attribute);
	}
	while (!ret && protobuf_next(&s, &scope)) {
		while (!ret && scope.number == RESOURCE_SCOPE && scope.is_bytes &&
		       protobuf_next(&scope.bytes, &profile)) {
			if (profile.number == SCOPE_PROFILE && profile.is_bytes)
				ret = read_profile(r, profile.bytes, who, resource, err);
		}
	}
	vec_for_each(&own, struct attribute *, attribute)
		free_attribute(attribute);
	vec_release(&own);
	return ret;
}

ORDER(compare_rows, struct row, COMPARE(a->sample.time, b->sample.time))

/* Ends a message: what was made of its tables is dropped. */
static void end_message(struct otlp_reader *r)
{
	if (r->has_times)
		vec_sort(&r->rows, compare_rows);
	vec_for_each(&r->rows, const struct row *, row)
		foreign_add(&r->f, row->thread, &row->sample, row->weight);
	vec_for_each(&r->attributes, struct attribute *, attribute)
		free_attribute(attribute);
	vec_clear(&r->rows);
	vec_clear(&r->attributes);
	vec_clear(&r->frames);
	for (size_t i = 0; i < TABLES_END; i++)
		vec_clear(&r->tables[i].rows);
	free(r->locations);
	free(r->stacks);
	free(r->modules);
	r->locations = NULL;
	r->stacks = NULL;
	r->modules = NULL;
}

/* async-profiler's "[name tid=1]" is a name and an id. */
static void split_thread(struct attribute *attribute)
{
	uint32_t tid;
	char *name = (char *)attribute->is.text;
	const char *only = foreign_thread_of(name, &tid);

	if (!only)
		return;
	attribute->is.number = tid;
	memmove(name, only, strlen(only) + 1);
}

static void begin_tables(struct otlp_reader *r, struct protobuf_cursor s)
{
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (field.number < TABLES_END && field.is_bytes)
			vec_push(&r->tables[field.number].rows, field.bytes);
	}
	r->locations = xcalloc(r->tables[LOCATIONS].rows.count + 1, sizeof(*r->locations));
	r->stacks = xcalloc(r->tables[STACKS].rows.count + 1, sizeof(*r->stacks));
	r->modules = xcalloc(r->tables[MAPPINGS].rows.count + 1, sizeof(*r->modules));
	for (size_t i = 0; i < r->tables[MAPPINGS].rows.count; i++)
		r->modules[i] = NO_MODULE;
	vec_for_each(&r->tables[ATTRIBUTES].rows, const struct protobuf_cursor *, row) {
		struct attribute attribute;

		if (!read_attribute(r, *row, &attribute))
			*(char *)attribute.is.key = '\0';
		else if (attribute.subject == THREAD_NAME && attribute.is.text)
			split_thread(&attribute);
		vec_push(&r->attributes, attribute);
	}
}

static int read_message(struct otlp_reader *r, struct protobuf_cursor s, struct error *err)
{
	struct protobuf_field field;
	int ret = 0;

	begin_tables(r, field_of(s, DATA_DICTIONARY).bytes);
	while (!ret && protobuf_next(&s, &field)) {
		if (field.number == DATA_RESOURCE && field.is_bytes)
			ret = read_resource(r, field.bytes, err);
	}
	if (!ret && s.failed)
		ret = error_text(err, -EBADMSG, "the OpenTelemetry profile is damaged");
	end_message(r);
	return ret;
}

/* True for a message of resources with profiles, and a dictionary that begins with "". */
static bool is_message(struct protobuf_cursor s)
{
	bool has_resource = false, has_strings = false;
	struct protobuf_field field, inner;

	while (protobuf_next(&s, &field)) {
		if (!field.is_bytes || field.number > DATA_DICTIONARY)
			return false;
		while (protobuf_next(&field.bytes, &inner)) {
			if (!inner.is_bytes || inner.number >= TABLES_END ||
			    (field.number == DATA_RESOURCE && inner.number > RESOURCE_SCHEMA))
				return false;
			has_resource |= field.number == DATA_RESOURCE &&
					inner.number == RESOURCE_SCOPE;
			if (field.number != DATA_DICTIONARY || inner.number != STRINGS)
				continue;
			if (!has_strings && inner.bytes.at != inner.bytes.end)
				return false;
			has_strings = true;
		}
		if (field.bytes.failed)
			return false;
	}
	return !s.failed && has_resource && has_strings;
}

/* Takes the next message. In several, the size of each comes first, in big-endian order. */
static bool next_message(struct bytes *b, bool has_sizes, struct protobuf_cursor *message)
{
	size_t size = has_sizes ? __builtin_bswap32(bytes_u32(b)) : bytes_left(b);
	const uint8_t *at = size ? bytes_take(b, size) : NULL;

	if (at)
		*message = protobuf_cursor_of(at, size);
	return at;
}

static bool otlp_matches(const char *text, size_t size)
{
	struct protobuf_cursor message;
	struct bytes b;

	for (int has_sizes = 0; has_sizes < 2; has_sizes++) {
		bytes_init(&b, text, size);
		if (next_message(&b, has_sizes, &message) && is_message(message))
			return true;
	}
	return false;
}

static int read_all(struct otlp_reader *r, const char *text, size_t size, struct error *err)
{
	struct protobuf_cursor message = protobuf_cursor_of(text, size);
	bool has_sizes = !is_message(message);
	struct bytes b;
	int ret = 0;

	bytes_init(&b, text, size);
	while (!ret && bytes_left(&b)) {
		if (next_message(&b, has_sizes, &message))
			ret = read_message(r, message, err);
		else if (b.failed)
			ret = error_text(err, -EBADMSG, "the OpenTelemetry profiles are cut off");
	}
	return ret;
}

static int otlp_read(struct profile **p, const char *text, size_t size,
		     struct import_counts *counts, struct error *err)
{
	struct otlp_reader r = {
		.is_first_pass = true,
		.start = UINT64_MAX,
		.frames_max = size * FRAMES_PER_BYTE,
		.labels_max = size,
	};
	bool has_range;
	int ret;

	foreign_init(&r.f, counts);
	r.f.profile->meta.product = xstrdup("OpenTelemetry");
	ret = read_all(&r, text, size, err);
	r.is_first_pass = false;
	has_range = r.start < r.end && clock_can_show(r.end - r.start);
	r.has_times = has_range && !r.lacks_times;
	if (has_range) {
		r.f.profile->meta.start_realtime_ns = r.start;
		r.f.stated.end = r.end - r.start;
		foreign_run_parallel(&r.f, r.length_ns, r.f.stated.end);
	}
	if (!ret)
		ret = read_all(&r, text, size, err);
	r.f.now = MAX(r.f.now, r.f.stated.end);
	foreign_name_processes(&r.f);
	if (!ret)
		ret = foreign_finish(&r.f, r.has_times, err);
	foreign_end(&r.f, ret, p);
	end_message(&r);
	for (size_t i = 0; i < TABLES_END; i++)
		vec_release(&r.tables[i].rows);
	vec_release(&r.attributes);
	vec_release(&r.frames);
	vec_release(&r.rows);
	vec_release(&r.values);
	vec_release(&r.times);
	vec_release(&r.labels);
	vec_release(&r.ticks);
	return ret;
}

const struct format format_otlp = {
	.name = "otlp",
	.suffixes = (const char *const[]){NULL},
	.matches = otlp_matches,
	.read = otlp_read,
};

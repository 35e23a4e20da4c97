/* SPDX-License-Identifier: MIT */
#include "lib/format/pprof.h"
#include "lib/format/pprof_fields.h"

#include "lib/base/infile.h"
#include "lib/format/foreign.h"
#include "lib/base/protobuf.h"
#include "lib/model/meaning/recording_markers.h"

#define TYPES_MAX 64
/* Shorter periods are not taken for the interval of a clock that is known only by its values. */
#define PERIOD_MIN_NS 10000

struct pprof_type {
	uint64_t type, unit; /* string indexes */
	uint8_t event;
	bool is_dropped; /* the values are equivalent to those of another type */
};

/* Messages of the file, by their ids. */
struct pprof_row {
	uint64_t id;
	struct protobuf_cursor bytes;
	uint32_t first, count; /* for a location: range of its frames, outermost first */
	uint32_t kept; /* for a location: frames before the first one to drop, or `count` */
	module_id module; /* for a mapping: its module */
};

struct pprof_rows {
	VEC(struct pprof_row) list;
	struct index index;
};

struct known_location {
	uint64_t id;
	stack_id stack;
};

/* Number of labels whose markers are remembered. */
#define KNOWN_LABELS 4096

/* A label that has a marker; others with the same bytes share its values. */
struct known_label {
	struct protobuf_cursor bytes; /* zeroed: none */
	struct marker marker;
};

struct pprof_reader {
	struct foreign f;
	struct pprof_rows mappings, locations, functions;
	VEC(struct protobuf_cursor) strings;
	struct protobuf_cursor all; /* the file, whose samples are read several times */
	uint64_t fields_read;
	VEC(frame_id) frames; /* frames of locations */
	/* The last sample's locations from the outermost on, with the stacks that end there. */
	VEC(struct known_location) known;
	VEC(uint64_t) path, values; /* stack and values of the current sample */
	struct known_label *known_labels; /* KNOWN_LABELS rows, by the hash of their bytes */
	/* The last sample, its thread, and the number of its markers, the thread's last ones. */
	struct protobuf_cursor last;
	thread_id last_thread;
	size_t last_markers;
	struct pprof_type types[TYPES_MAX];
	size_t type_count;
	VEC(uint64_t) comments;
	struct pprof_type period_type;
	uint64_t period, default_type, time_ns, duration_ns, drop_frames, keep_frames, doc_url;
	int clock; /* index of the type that counts clock samples; -1: none */
	uint64_t clock_unit; /* value of one clock sample: 1, or the period if no type counts */
};

struct pprof_mapping {
	uint64_t start, limit, offset, filename, build_id;
};

/* Returns a string by number, up to its first NUL; free it. */
static char *pprof_string(const struct pprof_reader *r, uint64_t number)
{
	return number < r->strings.count ? protobuf_text(&r->strings.items[number]) : xstrdup("");
}

INDEX_HAS(row_equal, struct pprof_rows, list, id)

/* Returns NULL for 0 and for an unknown id. */
static struct pprof_row *pprof_find(struct pprof_rows *rows, uint64_t id)
{
	uint32_t at;

	/* Most writers count from 1. */
	if (id && id <= rows->list.count && rows->list.items[id - 1].id == id)
		return &rows->list.items[id - 1];
	at = id ? index_find(&rows->index, hash_u64(id), row_equal, rows, &id) : INDEX_NONE;
	return at == INDEX_NONE ? NULL : &rows->list.items[at];
}

static struct pprof_mapping pprof_mapping(const struct pprof_row *row)
{
	struct protobuf_cursor s = row->bytes;
	struct protobuf_field field;
	struct pprof_mapping m = {0};

	while (protobuf_next(&s, &field)) {
		if (field.number == MAPPING_START)
			m.start = field.value;
		else if (field.number == MAPPING_LIMIT)
			m.limit = field.value;
		else if (field.number == MAPPING_OFFSET)
			m.offset = field.value;
		else if (field.number == MAPPING_FILENAME)
			m.filename = field.value;
		else if (field.number == MAPPING_BUILD_ID)
			m.build_id = field.value;
	}
	return m;
}

static void place(struct pprof_reader *r, uint64_t mapping_id, struct foreign_frame *frame)
{
	struct pprof_row *row = pprof_find(&r->mappings, mapping_id);
	_cleanup_free_ char *path = NULL, *build_id = NULL;
	struct pprof_mapping m;

	frame->module = NO_MODULE;
	if (!row)
		return;
	m = pprof_mapping(row);
	if (row->module == NO_MODULE) {
		path = pprof_string(r, m.filename);
		build_id = pprof_string(r, m.build_id);
		row->module = foreign_module(&r->f, path, build_id);
		foreign_segment(&r->f, row->module, m.start, m.limit, m.offset);
	}
	frame->module = row->module;
	if (frame->module != NO_MODULE && frame->address >= m.start)
		frame->address = frame->address - m.start + m.offset;
}

struct line {
	uint64_t function, line;
};

static struct line read_line(struct protobuf_cursor s)
{
	struct protobuf_field field;
	struct line line = {0};

	while (protobuf_next(&s, &field)) {
		if (field.number == LINE_FUNCTION_ID)
			line.function = field.value;
		else if (field.number == LINE_LINE)
			line.line = field.value;
	}
	return line;
}

static frame_id add_frame(struct pprof_reader *r, struct foreign_frame frame, struct line line)
{
	struct pprof_row *row = pprof_find(&r->functions, line.function);
	_cleanup_free_ char *name = NULL, *file = NULL;
	struct protobuf_cursor s = row ? row->bytes : (struct protobuf_cursor){0};
	uint64_t name_id = 0, system_id = 0, file_id = 0;
	struct protobuf_field field;

	while (row && protobuf_next(&s, &field)) {
		if (field.number == FUNCTION_NAME)
			name_id = field.value;
		else if (field.number == FUNCTION_SYSTEM_NAME)
			system_id = field.value;
		else if (field.number == FUNCTION_FILENAME)
			file_id = field.value;
		else if (field.number == FUNCTION_START_LINE)
			frame.func_line = foreign_place(field.value);
	}
	frame.name = name = pprof_string(r, name_id ? name_id : system_id);
	frame.file = file = pprof_string(r, file_id);
	frame.line = foreign_place(line.line);
	return foreign_frame(&r->f, &frame);
}

/* Adds the frames of a location, outermost function first. */
static void pprof_add_location(struct pprof_reader *r, struct pprof_row *row)
{
	struct protobuf_cursor s = row->bytes;
	struct foreign_frame frame = {0};
	uint64_t mapping = 0;
	struct protobuf_field field;
	struct {
		VEC(struct line) rows;
	} lines = {0};

	while (protobuf_next(&s, &field)) {
		if (field.number == LOCATION_MAPPING_ID)
			mapping = field.value;
		else if (field.number == LOCATION_ADDRESS)
			frame.address = field.value;
		else if (field.number == LOCATION_LINE && field.is_bytes)
			vec_push(&lines.rows, read_line(field.bytes));
	}
	place(r, mapping, &frame);
	row->first = (uint32_t)r->frames.count;
	row->count = lines.rows.count ? (uint32_t)lines.rows.count : 1;
	if (!lines.rows.count)
		vec_push(&r->frames, foreign_frame(&r->f, &frame));
	for (size_t i = lines.rows.count; i-- > 0;) {
		size_t depth = lines.rows.count - 1 - i;

		frame.inline_depth = (uint16_t)(depth < UINT8_MAX ? depth : UINT8_MAX);
		vec_push(&r->frames, add_frame(r, frame, lines.rows.items[i]));
	}
	row->kept = row->count;
	vec_release(&lines.rows);
}

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

static struct pprof_type read_type(struct protobuf_cursor s)
{
	struct pprof_type type = {0};
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (field.number == VALUE_TYPE)
			type.type = field.value;
		else if (field.number == VALUE_UNIT)
			type.unit = field.value;
	}
	return type;
}

static bool add_type(struct pprof_reader *r, struct protobuf_cursor s)
{
	if (r->type_count == TYPES_MAX)
		return false;
	r->types[r->type_count++] = read_type(s);
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
	case PROFILE_DEFAULT_SAMPLE_TYPE:
		r->default_type = field->value;
		break;
	case PROFILE_DROP_FRAMES:
		r->drop_frames = field->value;
		break;
	case PROFILE_KEEP_FRAMES:
		r->keep_frames = field->value;
		break;
	case PROFILE_DOC_URL:
		r->doc_url = field->value;
		break;
	default:
		break;
	}
}

static void take_comments(struct pprof_reader *r, struct protobuf_field field)
{
	uint64_t number;

	while (protobuf_take_of(&field, false, &number))
		vec_push(&r->comments, number);
}

static int find_messages(struct pprof_reader *r, const char *text, size_t size, struct error *err)
{
	struct protobuf_cursor s = protobuf_cursor_of(text, size);
	struct protobuf_field field;

	r->all = s;
	while (protobuf_next(&s, &field)) {
		if (++r->fields_read % 1024 == 0)
			infile_pass(s.at);
		if (field.number == PROFILE_COMMENT)
			take_comments(r, field);
		else if (!field.is_bytes)
			take_number(r, &field);
		else if (field.number == PROFILE_PERIOD_TYPE)
			r->period_type = read_type(field.bytes);
		else if (field.number == PROFILE_SAMPLE_TYPE && !add_type(r, field.bytes))
			return damaged(err, "too many sample types");
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

/* Finds the next sample of the file. */
static bool next_sample(struct pprof_reader *r, struct protobuf_cursor *s,
			struct protobuf_cursor *sample)
{
	struct protobuf_field field;

	while (protobuf_next(s, &field)) {
		if (++r->fields_read % 1024 == 0)
			infile_pass(s->at);
		if (field.number == PROFILE_SAMPLE && field.is_bytes) {
			*sample = field.bytes;
			return true;
		}
	}
	return false;
}

static int read_values(struct pprof_reader *r, struct protobuf_cursor s, struct error *err)
{
	struct protobuf_field field;
	uint64_t number;

	vec_clear(&r->path);
	vec_clear(&r->values);
	while (protobuf_next(&s, &field)) {
		while (field.number == SAMPLE_LOCATION_ID &&
		       protobuf_take_of(&field, false, &number))
			vec_push(&r->path, number);
		while (field.number == SAMPLE_VALUE && protobuf_take_of(&field, false, &number))
			vec_push(&r->values, number);
	}
	return s.failed || r->values.count != r->type_count
		       ? damaged(err, "a sample has too many or too few values")
		       : 0;
}

/* True if a value cannot be of clock samples, or differs from the time next to it. */
static bool is_no_clock(const struct pprof_reader *r, size_t count, size_t time)
{
	uint64_t product;

	if (count == SIZE_MAX)
		return (int64_t)r->values.items[time] < 0 || r->values.items[time] % r->period;
	return time != SIZE_MAX &&
	       (__builtin_mul_overflow(r->values.items[count], r->period, &product) ||
		product != r->values.items[time]);
}

/*
 * Finds the clock: a type that counts, a time type whose values are multiples of the period, or
 * both side by side. Each of its samples stands for a period.
 */
static int find_clock(struct pprof_reader *r, struct error *err)
{
	struct protobuf_cursor all = r->all, sample;
	size_t time = SIZE_MAX, count = SIZE_MAX;
	int ret = 0;

	r->clock = -1;
	r->clock_unit = 1;
	for (size_t i = 0; i < r->type_count; i++) {
		if (time == SIZE_MAX && string_is(r, r->types[i].unit, "nanoseconds"))
			time = i;
		if (count == SIZE_MAX && string_is(r, r->types[i].unit, "count"))
			count = i;
	}
	if ((time == SIZE_MAX || count == SIZE_MAX) &&
	    (r->type_count > 1 || !r->period_type.unit || r->period < PERIOD_MIN_NS))
		return 0;
	if (!r->period || r->period > INT64_MAX / 1024 ||
	    (r->period_type.unit && !string_is(r, r->period_type.unit, "nanoseconds")))
		return 0;
	while (!ret && next_sample(r, &all, &sample)) {
		ret = read_values(r, sample, err);
		if (!ret && is_no_clock(r, count, time))
			return 0;
	}
	if (count == SIZE_MAX)
		r->clock_unit = r->period;
	else if (time != SIZE_MAX)
		r->types[time].is_dropped = true;
	r->clock = (int)(count == SIZE_MAX ? time : count);
	return ret;
}

/*
 * Returns the period of a sample type, as in struct event_count. Counts are of samples, except in
 * profiles that sample memory: those estimate numbers of blocks.
 */
static uint64_t period_of(const struct pprof_reader *r, const char *unit)
{
	_cleanup_free_ char *sampled = pprof_string(r, r->period_type.unit);
	double size;

	if (r->period && strcmp(unit, sampled) == 0)
		return r->period;
	if (unit_measure(unit, &size) != MEASURE_COUNT ||
	    unit_measure(sampled, &size) == MEASURE_BYTES)
		return EVENT_IS_EXACT;
	return 1;
}

/* Returns the index of the default type: the last one unless the file states it. */
static size_t find_default(const struct pprof_reader *r)
{
	_cleanup_free_ char *wanted = pprof_string(r, r->default_type);
	size_t i = 0;

	while (*wanted && i < r->type_count && !string_is(r, r->types[i].type, wanted))
		i++;
	return *wanted && i < r->type_count ? i : r->type_count - 1;
}

static void name_events(struct pprof_reader *r)
{
	size_t shown = find_default(r);

	for (size_t i = 0; i < r->type_count; i++) {
		_cleanup_free_ char *type = pprof_string(r, r->types[i].type);
		_cleanup_free_ char *unit = pprof_string(r, r->types[i].unit);
		uint8_t event;

		if ((int)i == r->clock || r->types[i].is_dropped)
			continue;
		event = foreign_measure(&r->f, type, unit, period_of(r, unit));
		r->types[i].event = event;
		r->types[i].is_dropped = !event;
		if (event && i == shown)
			r->f.profile->events.rows.items[event].is_default = true;
	}
}

/* Identity of a thread by the labels of a sample. Texts are owned. */
struct labels {
	uint32_t pid, tid;
	char *thread, *process;
};

/* Numbers may be strings. */
static uint32_t id_of(const struct label_marker *label)
{
	uint64_t number = 0;

	if (label->text)
		text_to_u64(label->text, 10, &number);
	else
		number = (uint64_t)label->number;
	return number <= INT32_MAX ? (uint32_t)number : 0;
}

/* Returns true if the thread now represents the whole label, so that the writer can recreate it. */
static bool take_identity(struct labels *labels, const struct label_marker *label)
{
	bool is_pid = strcmp(label->key, "pid") == 0, is_tid = strcmp(label->key, "tid") == 0;

	if (is_pid)
		labels->pid = id_of(label);
	else if (is_tid || strcmp(label->key, "thread id") == 0)
		labels->tid = id_of(label);
	else if (label->text && !labels->process && strcmp(label->key, "comm") == 0)
		labels->process = xstrdup(label->text);
	if (label->text && !labels->thread && strcmp(label->key, "thread") == 0) {
		labels->thread = xstrdup(label->text);
		return strcmp(label->text, FOREIGN_ALL) != 0;
	}
	return !label->text && !*label->unit && (is_pid || is_tid) && label->number > 0;
}

struct label {
	struct protobuf_cursor bytes;
	struct label_marker is; /* texts are owned */
};

struct label_list {
	VEC(struct label) rows;
};

static void release_labels(struct label_list *list)
{
	vec_for_each(&list->rows, struct label *, label) {
		free((char *)label->is.key);
		free((char *)label->is.text);
		free((char *)label->is.unit);
	}
	vec_release(&list->rows);
}

static void read_label(const struct pprof_reader *r, struct protobuf_cursor s,
		       struct label_list *list)
{
	uint64_t key = 0, text = 0, unit = 0;
	struct label label = {.bytes = s};
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (field.number == LABEL_KEY)
			key = field.value;
		else if (field.number == LABEL_STR)
			text = field.value;
		else if (field.number == LABEL_NUM)
			label.is.number = (int64_t)field.value;
		else if (field.number == LABEL_NUM_UNIT)
			unit = field.value;
	}
	label.is.key = pprof_string(r, key);
	label.is.text = text ? pprof_string(r, text) : NULL;
	label.is.unit = pprof_string(r, unit);
	vec_push(&list->rows, label);
}

static bool next_label(struct protobuf_cursor *s, struct protobuf_cursor *label)
{
	struct protobuf_field field;

	while (protobuf_next(s, &field)) {
		if (field.number == SAMPLE_LABEL && field.is_bytes) {
			*label = field.bytes;
			return true;
		}
	}
	return false;
}

/* Finds the sample's thread and keeps its other labels in `list`. */
static thread_id find_thread(struct pprof_reader *r, struct protobuf_cursor s,
			     struct label_list *list)
{
	struct labels labels = {0};
	struct protobuf_cursor bytes;
	struct label_list all = {0}, known = {0};
	thread_id id;

	while (next_label(&s, &bytes))
		read_label(r, bytes, &all);
	vec_for_each(&all.rows, const struct label *, label) {
		if (take_identity(&labels, &label->is))
			vec_push(&known.rows, *label);
		else
			vec_push(&list->rows, *label);
	}
	id = foreign_thread(&r->f, labels.pid, labels.tid,
			    labels.process ? labels.process : r->f.profile->meta.product,
			    labels.thread ? labels.thread : FOREIGN_ALL, true);
	vec_release(&all.rows);
	release_labels(&known);
	free(labels.thread);
	free(labels.process);
	return id;
}

/* Finds the frames that the file requests to be dropped, together with their callees. */
static void find_dropped(struct pprof_reader *r)
{
	_cleanup_free_ char *drop = pprof_string(r, r->drop_frames);
	_cleanup_free_ char *keep = pprof_string(r, r->keep_frames);
	struct profile *p = r->f.profile;
	struct pprof_drop d;

	if (!pprof_drop_init(&d, p, drop, keep, &r->f.counts->unread[UNREAD_MEMBERS]))
		return;
	vec_for_each(&r->locations.list, struct pprof_row *, row) {
		row->kept = 0;
		while (row->kept < row->count &&
		       !pprof_drop_is(&d, p, r->frames.items[row->first + row->kept]))
			row->kept++;
	}
	pprof_drop_release(&d);
}

/* The outermost frames of a stack are kept: otherwise, nothing would be left of it. */
static stack_id find_stack(struct pprof_reader *r)
{
	struct stacks *stacks = &r->f.profile->stacks;
	stack_id stack = NO_STACK;
	bool is_dropping = false;
	size_t depth = 0;

	while (depth < r->known.count && depth < r->path.count &&
	       r->known.items[depth].id == r->path.items[r->path.count - 1 - depth])
		stack = r->known.items[depth++].stack;
	r->known.count = depth;
	for (size_t i = r->path.count - depth; i-- > 0 && !is_dropping;) {
		const struct pprof_row *row = pprof_find(&r->locations, r->path.items[i]);
		bool is_whole = !row || row->kept == row->count;
		uint32_t count = row ? row->kept : 0;

		is_dropping = !is_whole && stack != NO_STACK;
		if (row && !is_dropping && !count)
			count = row->count;
		for (uint32_t at = 0; at < count; at++)
			stack = stacks_intern(stacks, stack, r->frames.items[row->first + at]);
		if (!is_dropping)
			vec_push(&r->known, ((struct known_location){r->path.items[i], stack}));
	}
	return stack;
}

static void add_values(struct pprof_reader *r, thread_id thread, stack_id stack)
{
	for (size_t i = 0; i < r->type_count; i++) {
		uint64_t value = r->values.items[i];

		if (r->types[i].is_dropped)
			continue;
		if ((int64_t)value < 0)
			r->f.counts->unread[UNREAD_WEIGHTS]++;
		else
			foreign_sample(&r->f, thread, r->types[i].event, r->f.now, stack,
				       (int)i == r->clock ? value / r->clock_unit : value);
	}
}

static bool bytes_equal(const struct protobuf_cursor *a, const struct protobuf_cursor *b)
{
	size_t size = (size_t)(a->end - a->at);

	return (size_t)(b->end - b->at) == size && memcmp(a->at, b->at, size) == 0;
}

/* True if the samples have the same labels in the same order. */
static bool labels_equal(struct protobuf_cursor a, struct protobuf_cursor b)
{
	struct protobuf_cursor left, right;

	while (next_label(&a, &left)) {
		if (!next_label(&b, &right) || !bytes_equal(&left, &right))
			return false;
	}
	return !next_label(&b, &right);
}

static void add_label(struct pprof_reader *r, const struct label *label, uint64_t start)
{
	size_t size = (size_t)(label->bytes.end - label->bytes.at);
	struct known_label *known =
		&r->known_labels[hash_bytes(label->bytes.at, size, 0) % KNOWN_LABELS];
	struct marker marker;

	if (!known->bytes.at || !bytes_equal(&known->bytes, &label->bytes))
		*known = (struct known_label){label->bytes,
					      label_marker_make(r->f.profile, &label->is, 0, 0)};
	marker = known->marker;
	marker.start = start;
	marker.end = r->f.now;
	if (marker.schema == NO_SCHEMA)
		return;
	vec_push(&threads_get(&r->f.profile->threads, r->last_thread)->markers, marker);
	r->last_markers++;
}

/* Ends the markers of the last sample, which has the same labels, later. */
static void extend_labels(struct pprof_reader *r)
{
	struct profile_thread *thread = threads_get(&r->f.profile->threads, r->last_thread);

	for (size_t i = 0; i < r->last_markers; i++)
		thread->markers.items[thread->markers.count - 1 - i].end = r->f.now;
}

static int add_sample(struct pprof_reader *r, struct protobuf_cursor bytes, struct error *err)
{
	bool is_same = r->last.at && labels_equal(r->last, bytes);
	struct label_list labels = {0};
	int ret = read_values(r, bytes, err);
	uint64_t start = r->f.now, ticks = 1;

	if (ret)
		return ret;
	if (!is_same) {
		r->last_thread = find_thread(r, bytes, &labels);
		r->last_markers = 0;
	}
	r->last = bytes;
	add_values(r, r->last_thread, find_stack(r));
	/* Other events have no duration, and labels need one. */
	if (r->clock >= 0 && r->values.items[r->clock])
		ticks = r->values.items[r->clock] / r->clock_unit;
	foreign_pass(&r->f, ticks);
	if (is_same)
		extend_labels(r);
	vec_for_each(&labels.rows, const struct label *, label)
		add_label(r, label, start);
	release_labels(&labels);
	return 0;
}

/* Keeps a string, unless it is "". */
static void keep(struct pprof_reader *r, const char *name, uint64_t number)
{
	_cleanup_free_ char *text = pprof_string(r, number);

	if (*text)
		profile_add_extra(r->f.profile, PPROF_SECTION, name, "string", text);
}

static void keep_number(struct pprof_reader *r, const char *name, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	if (number)
		profile_add_extra(r->f.profile, PPROF_SECTION, name, "integer", text);
}

static char *type_text(const struct pprof_reader *r, const struct pprof_type *type)
{
	_cleanup_free_ char *name = pprof_string(r, type->type);
	_cleanup_free_ char *unit = pprof_string(r, type->unit);

	return xasprintf("%s/%s", name, unit);
}

/* Keeps types that the writer would otherwise write differently. */
static void keep_types(struct pprof_reader *r)
{
	_cleanup_free_ char *period_type = type_text(r, &r->period_type);
	_cleanup_free_ char *count = NULL, *time = NULL, *both = NULL;
	struct profile *p = r->f.profile;

	if (strcmp(period_type, "/") != 0 && strcmp(period_type, "cpu/nanoseconds") != 0)
		profile_add_extra(p, PPROF_SECTION, PPROF_PERIOD_TYPE, "string", period_type);
	if (r->clock < 0)
		keep_number(r, PPROF_PERIOD, r->period);
	if (r->clock < 0)
		return;
	count = type_text(r, &r->types[r->clock]);
	for (size_t i = 0; i < r->type_count && !time; i++) {
		if (r->types[i].is_dropped)
			time = type_text(r, &r->types[i]);
	}
	both = xasprintf("%s%s%s", count, time ? " " : "", time ? time : "");
	if (strcmp(both, "samples/count cpu/nanoseconds") != 0)
		profile_add_extra(p, PPROF_SECTION, PPROF_CLOCK_TYPES, "string", both);
}

static void keep_fields(struct pprof_reader *r)
{
	for (size_t i = 1; i < r->comments.count; i++)
		keep(r, PPROF_COMMENT, r->comments.items[i]);
	keep(r, PPROF_DEFAULT_TYPE, r->default_type);
	keep(r, PPROF_DOC_URL, r->doc_url);
	keep(r, PPROF_DROP_FRAMES, r->drop_frames);
	keep(r, PPROF_KEEP_FRAMES, r->keep_frames);
	keep_number(r, PPROF_DURATION, r->duration_ns);
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
	if (r->comments.count)
		meta->command_line = pprof_string(r, r->comments.items[0]);
	meta->start_realtime_ns = r->time_ns;
	meta->interval_ns = r->clock >= 0 ? r->period : 1000000;
}

/* Threads may have run in parallel: samples are then closer together, to fit into the duration. */
static int set_pace(struct pprof_reader *r, struct error *err)
{
	struct protobuf_cursor all = r->all, sample;
	double length = 0;
	int ret = 0;

	if (r->clock < 0 || !r->duration_ns)
		return 0;
	while (!ret && next_sample(r, &all, &sample)) {
		ret = read_values(r, sample, err);
		if (!ret && r->values.items[r->clock] <= INT64_MAX)
			length += (double)r->values.items[r->clock] * (double)r->period /
				  (double)r->clock_unit;
	}
	foreign_run_parallel(&r->f, length, r->duration_ns);
	return ret;
}

static void set_duration(struct pprof_reader *r)
{
	if (!clock_can_show(r->duration_ns))
		return;
	r->f.stated.end = r->duration_ns;
	if (r->duration_ns > r->f.now)
		r->f.now = r->duration_ns;
}

static int read_file(struct pprof_reader *r, const char *text, size_t size, struct error *err)
{
	int ret = find_messages(r, text, size, err);
	struct protobuf_cursor all = r->all, sample;

	if (!ret)
		ret = find_clock(r, err);
	if (ret)
		return ret;
	read_meta(r);
	keep_types(r);
	keep_fields(r);
	name_events(r);
	vec_for_each(&r->locations.list, struct pprof_row *, row)
		pprof_add_location(r, row);
	find_dropped(r);
	ret = set_pace(r, err);
	while (!ret && next_sample(r, &all, &sample))
		ret = add_sample(r, sample, err);
	if (!ret)
		set_duration(r);
	if (!ret)
		ret = foreign_finish(&r->f, false, err);
	return ret;
}

int pprof_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err)
{
	struct pprof_reader r = {.known_labels = xcalloc(KNOWN_LABELS, sizeof(*r.known_labels))};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_file(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.mappings.list);
	vec_release(&r.locations.list);
	vec_release(&r.functions.list);
	index_release(&r.mappings.index);
	index_release(&r.locations.index);
	index_release(&r.functions.index);
	vec_release(&r.strings);
	vec_release(&r.frames);
	vec_release(&r.known);
	free(r.known_labels);
	vec_release(&r.path);
	vec_release(&r.values);
	vec_release(&r.comments);
	return ret;
}

/* Other formats of this kind have different fields in their first messages. */
static bool is_sample_type(struct protobuf_cursor s)
{
	struct protobuf_field field;

	while (protobuf_next(&s, &field)) {
		if (field.number > VALUE_UNIT || field.is_bytes)
			return false;
	}
	return true;
}

/* Known fields; the strings must begin with an empty one. */
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
		if (field.number == PROFILE_SAMPLE_TYPE && !is_sample_type(field.bytes))
			return false;
		has_type |= field.number == PROFILE_SAMPLE_TYPE;
		/* Reading determines the rest. */
		if (field.number == PROFILE_STRING_TABLE && has_type)
			return field.bytes.at == field.bytes.end;
	}
	return !s.failed && has_type && size;
}

/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_tracepoints.h"

#include <linux/perf_event.h>

#include "lib/stream/record/marker_record.h"

/* First bytes of the formats; trace-cmd uses the same. */
static const char magic[] = "\x17\x08\x44tracing";
#define ID_PREFIX "\nID: "

_Static_assert(TRACEPOINT_FIELDS_MAX <= MARKER_SCHEMA_FIELDS_MAX &&
		       TRACEPOINT_FIELDS_MAX <= MARKER_RECORD_VALUES_MAX,
	       "all fields have room");

void perf_tracepoints_release(struct perf_tracepoints *t)
{
	vec_release(&t->rows);
}

static void skip_sized(struct bytes *b)
{
	uint64_t size = bytes_u64(b);

	if (size > bytes_left(b))
		b->failed = true;
	else
		bytes_skip(b, size);
}

/* Skips the header before the list of systems. False if the format is unknown. */
static bool skip_head(struct bytes *b)
{
	const void *start = bytes_take(b, sizeof(magic) - 1);
	uint32_t count;

	if (!start || memcmp(start, magic, sizeof(magic) - 1))
		return false;
	bytes_cstr(b); /* skip the version */
	if (bytes_u8(b))
		return false;
	bytes_skip(b, 1 + 4); /* skip the size of a long and of a page */
	for (int i = 0; i < 2; i++) {
		bytes_cstr(b); /* skip "header_page" or "header_event" */
		skip_sized(b);
	}
	count = bytes_u32(b);
	for (uint32_t i = 0; i < count && !b->failed; i++)
		skip_sized(b);
	return !b->failed;
}

static void send_schema(const struct perf_tracepoints *t, const char *name, struct perf_out *out)
{
	const struct tracepoint_format *format = &vec_last(&t->rows).format;
	struct marker_schema schema = {
		.name = name,
		.label = "{marker.name}",
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE,
	};
	_cleanup_free_ struct rec_schema *rec = NULL;

	for (uint32_t i = 0; i < format->count; i++) {
		const struct tracepoint_field *field = &format->fields[i];

		schema.fields[i].type = field->kind == TRACEPOINT_INTEGER ? FIELD_INTEGER
									  : FIELD_STRING;
		schema.fields[i].key = schema.fields[i].label = field->key;
	}
	rec = schema_record_new(&schema, (uint32_t)t->rows.count - 1, 0);
	perf_out_copy(out, &rec->rec);
}

/* Finds the events of this tracepoint by the kernel's number for it. */
static void take_format(struct perf_tracepoints *t, const struct perf_file *file, const char *text,
			size_t size, struct perf_out *out)
{
	const struct perf_attrs *attrs = &file->attrs;
	const char *id = memmem(text, size, ID_PREFIX, sizeof(ID_PREFIX) - 1);
	uint64_t number = 0;

	if (!id)
		return;
	id += sizeof(ID_PREFIX) - 1;
	if (!text_scan_decimal(&id, text + size, &number))
		return;
	for (uint32_t i = 0; i < attrs->rows.count; i++) {
		const struct perf_attr *attr = &attrs->rows.items[i];
		struct perf_tracepoint row = {.attr = i};

		if (attr->type != PERF_TYPE_TRACEPOINT || attr->config != number ||
		    tracepoint_format_parse(&row.format, attr->name, text, size, NULL))
			continue;
		vec_push(&t->rows, row);
		send_schema(t, attr->name, out);
	}
}

void perf_tracepoints_begin(struct perf_tracepoints *t, const struct perf_file *file,
			    struct perf_out *out)
{
	struct bytes b;
	uint32_t systems;

	bytes_init(&b, file->features.tracing, file->features.tracing_size);
	if (file->is_swapped || !file->features.tracing || !skip_head(&b))
		return;
	systems = bytes_u32(&b);
	for (uint32_t i = 0; i < systems && !b.failed; i++) {
		uint32_t count;

		bytes_cstr(&b); /* skip the name of the tracepoint system */
		count = bytes_u32(&b);
		for (uint32_t j = 0; j < count && !b.failed; j++) {
			uint64_t size = bytes_u64(&b);
			_cleanup_free_ char *text = NULL;
			const char *at;

			if (size > bytes_left(&b))
				return;
			at = bytes_take(&b, size);
			if (!at)
				return;
			text = xstrndup(at, size);
			take_format(t, file, text, strlen(text), out);
		}
	}
}

static const struct perf_tracepoint *find(const struct perf_tracepoints *t, uint32_t attr)
{
	vec_for_each(&t->rows, const struct perf_tracepoint *, row) {
		if (row->attr == attr)
			return row;
	}
	return NULL;
}

void perf_tracepoints_sample(const struct perf_tracepoints *t, uint32_t attr,
			     const struct perf_sample *sample, const struct perf_place *place,
			     struct perf_out *out)
{
	const struct perf_tracepoint *row = sample->raw ? find(t, attr) : NULL;
	const struct rec_marker_stack stack = {
		.time = sample->time,
		.leaf = place->leaf,
		.stack_id = place->stack,
		.pid = sample->pid,
		.tid = sample->tid,
		.flags = place->flags,
	};
	struct marker_record marker = {
		.cpu = (__u16)sample->cpu,
		.pid = sample->pid,
		.tid = sample->tid,
		.start = sample->time,
		.end = sample->time,
		.cause = &stack,
	};
	_cleanup_free_ struct rec_marker *rec = NULL;

	if (!row)
		return;
	marker.schema = (uint32_t)(row - t->rows.items);
	for (uint32_t i = 0; i < row->format.count; i++) {
		struct tracepoint_value value;

		if (!tracepoint_field_read(&row->format.fields[i], sample->raw, sample->raw_size,
					   &value))
			continue;
		if (value.text)
			marker_set_text(&marker, i, (struct marker_text){value.text, value.size});
		else
			marker_set_number(&marker, i, FIELD_INTEGER, (uint64_t)value.number);
	}
	rec = marker_record_new(&marker);
	perf_out_copy(out, &rec->rec);
}

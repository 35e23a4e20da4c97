/* SPDX-License-Identifier: MIT */
/* Strings, mappings, locations and functions of a pprof profile. */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/pprof_internal.h"

#define PLACE_MAX INT32_MAX

char *pprof_string(const struct pprof_reader *r, uint64_t number)
{
	const struct protobuf_cursor *bytes;

	if (number >= r->strings.count)
		return xstrdup("");
	bytes = &r->strings.items[number];
	return xstrndup((const char *)bytes->at, (size_t)(bytes->end - bytes->at));
}

static bool row_equal(const void *table, uint32_t id, const void *key)
{
	return ((const struct pprof_rows *)table)->list.items[id].id == *(const uint64_t *)key;
}

struct pprof_row *pprof_find(struct pprof_rows *rows, uint64_t id)
{
	uint32_t at = id ? index_find(&rows->index, hash_u64(id), row_equal, rows, &id)
			 : INDEX_NONE;

	return at == INDEX_NONE ? NULL : &rows->list.items[at];
}

struct pprof_mapping pprof_mapping(const struct pprof_row *row)
{
	struct protobuf_cursor s = row->bytes;
	struct protobuf_field field;
	struct pprof_mapping m = {0};

	while (protobuf_next(&s, &field)) {
		if (field.number == MAPPING_START)
			m.start = field.value;
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

static uint32_t place_or_0(uint64_t number)
{
	return number <= PLACE_MAX ? (uint32_t)number : 0;
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
			frame.func_line = place_or_0(field.value);
	}
	frame.name = name = pprof_string(r, name_id ? name_id : system_id);
	frame.file = file = pprof_string(r, file_id);
	frame.line = place_or_0(line.line);
	return foreign_frame(&r->f, &frame);
}

void pprof_add_location(struct pprof_reader *r, struct pprof_row *row)
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
	vec_release(&lines.rows);
}

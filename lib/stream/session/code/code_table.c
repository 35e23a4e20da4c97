/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/code/code_table.h"

#include "lib/model/languages/language.h"
#include "lib/stream/record/records.h"

_Static_assert(FRAME_KIND_COUNT == 5, "each kind on the wire has a row");

static const struct frame_kind_info kinds[UINT8_MAX + 1] = {
	[FRAME_NATIVE] = {FRAME_PLACE_PROCESS, PROFILE_FRAME_NATIVE, false},
	[FRAME_KERNEL] = {FRAME_PLACE_KERNEL, PROFILE_FRAME_KERNEL, false},
	[FRAME_GUESS] = {FRAME_PLACE_PROCESS, PROFILE_FRAME_GUESS, false},
	[FRAME_SIGNAL] = {FRAME_PLACE_PROCESS, PROFILE_FRAME_SIGNAL, true},
	[FRAME_MANAGED] = {FRAME_PLACE_NONE, PROFILE_FRAME_MANAGED, false},
};

const struct frame_kind_info *frame_kind_info(uint8_t kind, bool is_kernel_part)
{
	static const struct frame_kind_info unknown = {.place = FRAME_PLACE_UNKNOWN};
	enum frame_place elsewhere = is_kernel_part ? FRAME_PLACE_PROCESS : FRAME_PLACE_KERNEL;

	return kinds[kind].place == elsewhere ? &unknown : &kinds[kind];
}

void code_table_release(struct code_table *t)
{
	vec_release(&t->rows);
	vec_release(&t->managed);
	vec_release(&t->lines);
	vec_release(&t->pieces);
	index_release(&t->by_lines);
	vec_release(&t->execs);
	vec_release(&t->dumps);
	strings_release(&t->names);
}

static string_id intern_text(struct code_table *t, const struct rec_code *rec, uint32_t at)
{
	const char *text = rec_code_text(rec);

	if (at >= rec->text_size)
		return NO_STRING;
	return strings_intern_sized(&t->names, text + at, strnlen(text + at, rec->text_size - at));
}

static bool lines_equal(const void *table, uint32_t id, const void *key)
{
	const struct code_table *t = table;
	const struct code_lines *piece = &t->pieces.items[id], *wanted = key;

	return piece->count == wanted->count &&
	       memcmp(&t->lines.items[piece->first], &t->lines.items[wanted->first],
		      piece->count * sizeof(*t->lines.items)) == 0;
}

/* Shares the row's lines, the last ones added, with an equal piece. */
static void share_lines(struct code_table *t, struct code_entry *row)
{
	const struct code_lines piece = {row->first_line, row->line_count};
	uint64_t hash;
	uint32_t id;

	if (!piece.count)
		return;
	hash = hash_bytes(&t->lines.items[piece.first], piece.count * sizeof(*t->lines.items), 0);
	id = index_find(&t->by_lines, hash, lines_equal, t, &piece);
	if (id == INDEX_NONE) {
		index_add(&t->by_lines, hash, (uint32_t)t->pieces.count);
		vec_push(&t->pieces, piece);
	} else {
		row->first_line = t->pieces.items[id].first;
		t->lines.count = piece.first;
	}
}

static void add_lines(struct code_table *t, const struct rec_code *rec, struct code_entry *row)
{
	uint32_t last = 0;

	row->first_line = (uint32_t)t->lines.count;
	for (uint32_t i = 0; i < rec->line_count; i++) {
		const struct rec_code_line *from = &rec->lines[i];
		struct code_line line = {.offset = from->offset, .line = from->line};

		/* Lines are searched by offset, so offsets must not decrease. */
		if (from->offset < last)
			break;
		last = from->offset;
		line.file = intern_text(t, rec, from->file);
		line.inlined = from->inlined ? intern_text(t, rec, from->inlined) : NO_STRING;
		vec_push(&t->lines, line);
	}
	row->line_count = (uint32_t)t->lines.count - row->first_line;
	share_lines(t, row);
}

/* Search from the end: most code is in the same dump as the previous code. */
static void set_dump(struct code_table *t, const struct rec_code *rec, struct code_entry *row)
{
	struct rec_code_dump dump;
	struct code_dump wanted = {.process = row->process};

	row->dump = NO_DUMP;
	if (!rec_code_dump(rec, &dump))
		return;
	memcpy(wanted.id, dump.id, sizeof(wanted.id));
	row->dump_offset = dump.offset;
	for (size_t i = t->dumps.count; i-- > 0;) {
		if (t->dumps.items[i].process == wanted.process &&
		    memcmp(t->dumps.items[i].id, wanted.id, sizeof(wanted.id)) == 0)
			row->dump = (uint32_t)i;
	}
	if (row->dump != NO_DUMP)
		return;
	row->dump = (uint32_t)t->dumps.count;
	vec_push(&t->dumps, wanted);
}

void code_table_add(struct code_table *t, process_id process, uint64_t space_start,
		    const struct rec_code *rec)
{
	struct code_entry row = {
		.since = rec->since,
		.start = rec->start,
		.end = rec->start + rec->size,
		.process = process,
		.is_exact = rec->rec.flags & CODE_EXACT,
	};

	row.name = intern_text(t, rec, 0);
	if (row.end <= row.start || row.name == NO_STRING ||
	    !code_name_is_function(strings_get(&t->names, row.name),
				   strings_size(&t->names, row.name)))
		return;
	if (!row.is_exact && row.since < space_start)
		row.since = space_start;
	add_lines(t, rec, &row);
	set_dump(t, rec, &row);
	if (rec->rec.flags & CODE_MANAGED)
		vec_push(&t->managed, row);
	else
		vec_push(&t->rows, row);
}

/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/line_header.h"

#include <dwarf.h>

/* Limit for the kinds of content in a list of directories or files; real lists have up to five. */
#define MAX_FORMATS 16

struct format {
	uint64_t content, form;
};

struct formats {
	struct format rows[MAX_FORMATS];
	unsigned int count;
};

struct reader {
	const struct line_sections *sections;
	struct line_table *table;
	bool is_64bit; /* DWARF's 64-bit format, on any machine */
};

static uint64_t read_offset(const struct reader *r, struct bytes *b)
{
	return r->is_64bit ? bytes_u64(b) : bytes_u32(b);
}

static const char *text_at(struct bytes section, uint64_t offset)
{
	if (offset >= bytes_left(&section))
		return NULL;
	bytes_seek(&section, offset);
	return bytes_cstr(&section);
}

/* NULL for a form that is no text. Fails for unknown forms, whose size is unknown. */
static const char *read_text(const struct reader *r, uint64_t form, struct bytes *b)
{
	switch (form) {
	case DW_FORM_string:
		return bytes_cstr(b);
	case DW_FORM_line_strp:
		return text_at(r->sections->line_str, read_offset(r, b));
	case DW_FORM_strp:
		return text_at(r->sections->str, read_offset(r, b));
	case DW_FORM_strp_sup:
		read_offset(r, b);
		return NULL;
	case DW_FORM_data16:
		bytes_skip(b, 16);
		return NULL;
	case DW_FORM_block:
		bytes_skip(b, bytes_uleb(b));
		return NULL;
	default:
		b->failed = true;
		return NULL;
	}
}

static uint64_t read_number(uint64_t form, struct bytes *b)
{
	switch (form) {
	case DW_FORM_data1:
		return bytes_u8(b);
	case DW_FORM_data2:
		return bytes_u16(b);
	case DW_FORM_data4:
		return bytes_u32(b);
	case DW_FORM_data8:
		return bytes_u64(b);
	default:
		return bytes_uleb(b);
	}
}

static bool is_number(uint64_t form)
{
	return form == DW_FORM_udata || form == DW_FORM_data1 || form == DW_FORM_data2 ||
	       form == DW_FORM_data4 || form == DW_FORM_data8;
}

static void read_formats(struct formats *formats, struct bytes *b)
{
	unsigned int count = bytes_u8(b);

	if (count > MAX_FORMATS)
		b->failed = true;
	formats->count = b->failed ? 0 : count;
	for (unsigned int i = 0; i < formats->count; i++) {
		formats->rows[i].content = bytes_uleb(b);
		formats->rows[i].form = bytes_uleb(b);
	}
}

static struct line_file read_entry(const struct reader *r, const struct formats *formats,
				   struct bytes *b)
{
	struct line_file file = {.name = NULL};

	for (unsigned int i = 0; i < formats->count; i++) {
		const struct format *f = &formats->rows[i];

		if (is_number(f->form)) {
			uint64_t value = read_number(f->form, b);

			if (f->content == DW_LNCT_directory_index)
				file.dir = value;
		} else {
			const char *text = read_text(r, f->form, b);

			if (f->content == DW_LNCT_path)
				file.name = text;
		}
	}
	return file;
}

/* From DWARF 5 on, the table itself describes the format of its directories and files. */
static void read_lists(const struct reader *r, struct bytes *b)
{
	struct formats formats;
	uint64_t count;

	read_formats(&formats, b);
	count = bytes_uleb(b);
	for (uint64_t i = 0; formats.count && i < count && !b->failed; i++)
		vec_push(&r->table->dirs, read_entry(r, &formats, b).name);
	read_formats(&formats, b);
	count = bytes_uleb(b);
	for (uint64_t i = 0; formats.count && i < count && !b->failed; i++)
		vec_push(&r->table->files, read_entry(r, &formats, b));
}

static void read_old_lists(const struct reader *r, struct bytes *b)
{
	const char *text;

	/* Numbers start at 1: add an empty row 0. */
	vec_push(&r->table->dirs, NULL);
	vec_push(&r->table->files, (struct line_file){.name = NULL});
	while ((text = bytes_cstr(b)) && *text)
		vec_push(&r->table->dirs, text);
	while ((text = bytes_cstr(b)) && *text) {
		struct line_file file = {.name = text, .dir = bytes_uleb(b)};

		bytes_uleb(b);
		bytes_uleb(b);
		vec_push(&r->table->files, file);
	}
}

/* Reads the fields from the size of instructions on. */
static bool read_fields(struct line_header *h, const struct reader *r, unsigned int version,
			struct bytes *b)
{
	h->instruction_size = bytes_u8(b);
	h->operations = version >= 4 ? bytes_u8(b) : 1;
	bytes_u8(b);
	h->line_base = (int8_t)bytes_u8(b);
	h->line_range = bytes_u8(b);
	h->opcode_base = bytes_u8(b);
	if (b->failed || !h->line_range || !h->opcode_base)
		return false;
	for (unsigned int i = 1; i < h->opcode_base; i++)
		h->operand_counts[i] = bytes_u8(b);
	if (version >= 5)
		read_lists(r, b);
	else
		read_old_lists(r, b);
	return !b->failed;
}

bool line_header_read(struct line_header *h, const struct line_sections *sections, uint64_t offset,
		      struct line_table *t, struct step_budget *budget)
{
	struct reader r = {.sections = sections, .table = t};
	struct bytes all = sections->line, unit, lists;
	unsigned int version;
	uint64_t size;

	*h = (struct line_header){.opcode_base = 0};
	if (offset >= bytes_left(&all))
		return false;
	bytes_seek(&all, offset);
	size = bytes_unit_length(&all, &r.is_64bit);
	unit = bytes_sub(&all, size);
	if (all.failed || !step_budget_take(budget, size))
		return false;
	version = bytes_u16(&unit);
	/* Skip the sizes of addresses and of segment selectors. */
	if (version >= 5)
		bytes_skip(&unit, 2);
	size = read_offset(&r, &unit);
	if (version < 2 || version > 5 || size > bytes_left(&unit))
		return false;
	lists = bytes_sub(&unit, size);
	h->program = unit;
	return read_fields(h, &r, version, &lists);
}

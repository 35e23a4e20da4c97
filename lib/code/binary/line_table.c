/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/line_table.h"

#include <dwarf.h>

/* The header of a line number program; private to line_table.c. */

struct line_header {
	struct bytes program;
	uint8_t instruction_size;
	uint8_t operations; /* operations per instruction: more than 1 only on VLIW machines */
	int8_t line_base;
	uint8_t line_range; /* never 0 */
	uint8_t opcode_base; /* never 0 */
	uint8_t operand_counts[256]; /* number of operands by standard opcode */
};

/* Limit of content kinds in a list of directories or files; real lists have up to five. */
#define MAX_FORMATS 16
/* Longer names count as unknown: the strings of forged lists may overlap. */
#define MAX_NAME 8192

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
	bool is_64bit; /* DWARF's 64-bit format, possible on any machine */
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
	if (bytes_left(&section) > MAX_NAME)
		section.end = section.at + MAX_NAME;
	return bytes_cstr(&section);
}

/*
 * Reads a string; NULL for a form other than a string. Fails for unknown forms, whose size is
 * unknown.
 */
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

/* Since DWARF 5, the table itself describes the format of its directories and files. */
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

/* Reads the header and the table's directories and files. False if the table is unusable. */
static bool line_header_read(struct line_header *h, const struct line_sections *sections,
			     uint64_t offset, struct line_table *t, struct step_budget *budget)
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

struct registers {
	uint64_t addr;
	uint64_t file;
	uint32_t line;
	uint32_t discriminator;
	uint32_t op_index; /* only for VLIW machines */
};

struct machine {
	struct line_table *table;
	const struct line_header *header;
	struct registers regs;
	struct intervals intervals; /* address ranges of sequences */
	size_t first_row; /* first row of the current sequence */
	bool is_unordered; /* the rows of the current sequence are out of order */
};

static void restart(struct machine *m)
{
	m->regs = (struct registers){.file = 1, .line = 1};
	m->first_row = m->table->rows.count;
	m->is_unordered = false;
}

/* Sets the discriminator of the last row. */
static void set_discriminator(struct machine *m)
{
	struct line_table *t = m->table;

	if (!t->wants_discriminators)
		return;
	if (t->discriminators.count < t->rows.count)
		vec_push(&t->discriminators, m->regs.discriminator);
	vec_last(&t->discriminators) = m->regs.discriminator;
}

/* Returns true if the row differs from the last one in content. */
static bool is_new_row(const struct machine *m, const struct line_row *row,
		       const struct line_row *last)
{
	return row->addr < last->addr || row->line != last->line || row->file != last->file ||
	       (m->table->wants_discriminators &&
		m->regs.discriminator != vec_last(&m->table->discriminators));
}

static void add_row(struct machine *m)
{
	struct line_row row = {
		.addr = m->regs.addr,
		.file = m->regs.file < UINT32_MAX ? (uint32_t)m->regs.file : UINT32_MAX,
		.line = m->regs.line,
	};
	struct line_row *last;

	if (m->table->rows.count == m->first_row) {
		vec_push(&m->table->rows, row);
		set_discriminator(m);
		return;
	}
	last = &vec_last(&m->table->rows);
	/* If several rows have one address, the last is valid from there on. */
	if (row.addr == last->addr) {
		*last = row;
		set_discriminator(m);
	} else if (is_new_row(m, &row, last)) {
		m->is_unordered = m->is_unordered || row.addr < last->addr;
		vec_push(&m->table->rows, row);
		set_discriminator(m);
	}
}

struct numbered_row {
	struct line_row row;
	size_t number;
	uint32_t discriminator;
};

/* Stable: the last of equal addresses must stay the last. */
ORDER(compare_rows, struct numbered_row,
      COMPARE(a->row.addr, b->row.addr) ?: COMPARE(a->number, b->number))

/* Sorts rows: no compiler needs it, but some versions of the format allow any order. */
static void sort_rows(struct line_table *t, size_t first)
{
	uint32_t *discriminators = t->wants_discriminators ? t->discriminators.items + first : NULL;
	struct line_row *rows = t->rows.items + first;
	size_t count = t->rows.count - first;
	struct numbered_row *numbered = xreallocarray(NULL, count, sizeof(*numbered));

	for (size_t i = 0; i < count; i++)
		numbered[i] = (struct numbered_row){rows[i], i,
						    discriminators ? discriminators[i] : 0};
	qsort(numbered, count, sizeof(*numbered), compare_rows);
	for (size_t i = 0; i < count; i++) {
		rows[i] = numbered[i].row;
		if (discriminators)
			discriminators[i] = numbered[i].discriminator;
	}
	free(numbered);
}

static void end_sequence(struct machine *m)
{
	struct line_table *t = m->table;
	size_t count = t->rows.count - m->first_row;

	if (m->is_unordered)
		sort_rows(t, m->first_row);
	if (count) {
		vec_push(&m->intervals.rows, (struct interval){
						     .start = t->rows.items[m->first_row].addr,
						     .end = m->regs.addr,
						     .id = (uint32_t)t->sequences.count,
					     });
		vec_push(&t->sequences,
			 (struct line_sequence){(uint32_t)m->first_row, (uint32_t)count});
	}
	restart(m);
}

static void advance(struct machine *m, uint64_t operations)
{
	const struct line_header *h = m->header;

	if (h->operations <= 1) {
		m->regs.addr += operations * h->instruction_size;
		return;
	}
	operations += m->regs.op_index;
	m->regs.addr += operations / h->operations * h->instruction_size;
	m->regs.op_index = (uint32_t)(operations % h->operations);
}

static void define_file(struct machine *m, struct bytes *b)
{
	struct line_file file = {.name = bytes_cstr(b)};

	file.dir = bytes_uleb(b);
	if (!b->failed)
		vec_push(&m->table->files, file);
}

static void run_extended(struct machine *m, struct bytes *b)
{
	uint64_t size = bytes_uleb(b);
	struct bytes body = bytes_sub(b, size);

	switch (bytes_u8(&body)) {
	case DW_LNE_end_sequence:
		end_sequence(m);
		break;
	case DW_LNE_set_address:
		m->regs.addr = size == 1 + sizeof(uint64_t) ? bytes_u64(&body) : bytes_u32(&body);
		m->regs.op_index = 0;
		break;
	case DW_LNE_set_discriminator: {
		uint64_t number = bytes_uleb(&body);

		m->regs.discriminator = number <= UINT32_MAX ? (uint32_t)number : 0;
		break;
	}
	case DW_LNE_define_file:
		define_file(m, &body);
		break;
	default:
		break;
	}
}

static void skip_unknown(const struct line_header *h, uint8_t opcode, struct bytes *b)
{
	for (uint8_t i = 0; i < h->operand_counts[opcode]; i++)
		bytes_uleb(b);
}

static void run_standard(struct machine *m, uint8_t opcode, struct bytes *b)
{
	const struct line_header *h = m->header;

	switch (opcode) {
	case DW_LNS_copy:
		add_row(m);
		m->regs.discriminator = 0;
		break;
	case DW_LNS_advance_pc:
		advance(m, bytes_uleb(b));
		break;
	case DW_LNS_advance_line:
		m->regs.line += (uint32_t)bytes_sleb(b);
		break;
	case DW_LNS_set_file:
		m->regs.file = bytes_uleb(b);
		break;
	case DW_LNS_const_add_pc:
		advance(m, (255u - h->opcode_base) / h->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		m->regs.addr += bytes_u16(b);
		m->regs.op_index = 0;
		break;
	case DW_LNS_set_column:
	case DW_LNS_set_isa:
		bytes_uleb(b);
		break;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		break;
	default:
		skip_unknown(h, opcode, b);
		break;
	}
}

static void run(struct machine *m, struct bytes *b)
{
	const struct line_header *h = m->header;

	while (bytes_left(b)) {
		uint8_t opcode = bytes_u8(b);

		if (opcode >= h->opcode_base) {
			unsigned int special = opcode - h->opcode_base;

			advance(m, special / h->line_range);
			m->regs.line += (uint32_t)(h->line_base + (int)(special % h->line_range));
			add_row(m);
			m->regs.discriminator = 0;
		} else if (opcode) {
			run_standard(m, opcode, b);
		} else {
			run_extended(m, b);
		}
	}
	/* Drop a sequence without an end. */
	m->table->rows.count = m->first_row;
	if (m->table->wants_discriminators)
		m->table->discriminators.count = m->first_row;
}

void line_table_read(struct line_table *t, const struct line_sections *sections, uint64_t offset,
		     struct step_budget *budget)
{
	struct line_header header;
	struct machine m = {.table = t, .header = &header};

	if (!line_header_read(&header, sections, offset, t, budget))
		return;
	restart(&m);
	run(&m, &header.program);
	segments_build(&t->segments, &m.intervals);
	vec_release(&m.intervals.rows);
}

void line_table_release(struct line_table *t)
{
	vec_release(&t->dirs);
	vec_release(&t->files);
	vec_release(&t->rows);
	vec_release(&t->discriminators);
	vec_release(&t->sequences);
	segments_release(&t->segments);
}

uint32_t line_table_discriminator(const struct line_table *t, const struct line_row *row)
{
	return t->wants_discriminators ? t->discriminators.items[row - t->rows.items] : 0;
}

const struct line_row *line_table_find(const struct line_table *t, uint64_t addr)
{
	uint32_t id = segments_find(&t->segments, addr);
	const struct line_row *rows;
	size_t low;

	if (id == NO_SEGMENT)
		return NULL;
	rows = t->rows.items + t->sequences.items[id].first_row;
	low = count_front(rows, t->sequences.items[id].row_count, it, it->addr <= addr);
	return low ? &rows[low - 1] : NULL;
}

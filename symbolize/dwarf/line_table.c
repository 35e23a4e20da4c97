/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/line_table.h"

#include <dwarf.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "symbolize/dwarf/line_header.h"

struct registers {
	uint64_t addr;
	uint64_t file;
	uint32_t line;
	uint32_t op_index; /* of VLIW machines */
};

struct machine {
	struct line_table *table;
	const struct line_header *header;
	struct registers regs;
	struct intervals intervals; /* of sequences */
	size_t first_row; /* of the current sequence */
	bool is_unordered; /* rows of the current sequence */
};

static void restart(struct machine *m)
{
	m->regs = (struct registers){.file = 1, .line = 1};
	m->first_row = m->table->rows.count;
	m->is_unordered = false;
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
		return;
	}
	last = &vec_last(&m->table->rows);
	/* The last of several rows for one address holds from there on. */
	if (row.addr == last->addr) {
		*last = row;
	} else if (row.addr < last->addr || row.line != last->line || row.file != last->file) {
		m->is_unordered = m->is_unordered || row.addr < last->addr;
		vec_push(&m->table->rows, row);
	}
}

struct numbered_row {
	struct line_row row;
	size_t number;
};

/* Stable: the last of equal addresses has to stay the last. */
static int compare_rows(const void *a, const void *b)
{
	const struct numbered_row *x = a, *y = b;

	if (x->row.addr != y->row.addr)
		return x->row.addr < y->row.addr ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* No compiler needs this, but the format allows it in some versions. */
static void sort_rows(struct line_row *rows, size_t count)
{
	struct numbered_row *numbered = xreallocarray(NULL, count, sizeof(*numbered));

	for (size_t i = 0; i < count; i++)
		numbered[i] = (struct numbered_row){rows[i], i};
	qsort(numbered, count, sizeof(*numbered), compare_rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = numbered[i].row;
	free(numbered);
}

static void end_sequence(struct machine *m)
{
	struct line_table *t = m->table;
	size_t count = t->rows.count - m->first_row;

	if (m->is_unordered)
		sort_rows(t->rows.items + m->first_row, count);
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
		} else if (opcode) {
			run_standard(m, opcode, b);
		} else {
			run_extended(m, b);
		}
	}
	/* Drop a sequence without an end. */
	m->table->rows.count = m->first_row;
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
	vec_release(&t->sequences);
	segments_release(&t->segments);
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

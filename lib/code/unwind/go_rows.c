/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/go_rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/code/unwind/go_code.h"
#include "lib/code/unwind/go_file.h"

struct go_rows {
	struct go_file go;
	const struct go_arch *arch;
	struct stubs *stubs;
	struct go_layout layout;
	struct cfi_buffer buffer; /* the code of one function */
};

/* Reads a function's code, which is valid until the next one is read. */
static struct go_code read_code(struct go_rows *r, const struct pclntab_function *function)
{
	struct go_code code = {.vaddr = r->go.text + function->start};
	uint64_t size = function->end - function->start;
	struct file_range range = cfi_file_find(r->go.file, code.vaddr);

	if (range.size > size)
		range.size = size;
	if (range.size > GO_CODE_MAX)
		range.size = GO_CODE_MAX;
	if (cfi_file_read_into(r->go.file, &range, &r->buffer, &code.size, NULL) != 0)
		code.size = 0;
	code.bytes = r->buffer.data;
	return code;
}

/* Adds rows where the frame's size changes. */
static void add_frames(struct go_rows *r, const struct pclntab_function *function,
		       struct go_saves saves)
{
	uint64_t at = function->start;
	struct pclntab_values values;

	pclntab_values_init(&values, &r->go.table, function->frame);
	while (at < function->end && pclntab_values_next(&values)) {
		struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_NONE};

		if (values.value >= 0)
			rule = r->arch->frame((uint64_t)values.value, saves);
		stubs_add_row(r->stubs, r->go.text + at, rule);
		at = function->start + values.end;
	}
	if (at < function->end)
		stubs_add_row(r->stubs, r->go.text + at,
			      (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
}

struct unwind_rule go_rule_at(const struct go_function *function, size_t offset)
{
	struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_NONE};

	for (size_t i = function->first; i < function->rows->rows.count; i++) {
		const struct stub_row *row = &function->rows->rows.items[i];

		if (row->vaddr > function->code.vaddr + offset)
			break;
		rule = row->rule;
	}
	return rule;
}

struct unwind_rule go_depth_rule(struct unwind_rule own, const int slots[2])
{
	own.cfa_kind = UNWIND_CFA_GO_DEPTH;
	own.cfa_reg = UNWIND_REG_SP;
	own.base_offset = (int16_t)slots[0];
	own.cfa_deref = (int16_t)slots[1];
	return own;
}

/* Splits the row at an offset in two. */
static void split_row(const struct go_function *function, size_t offset)
{
	struct stub_row added = {.vaddr = function->code.vaddr + offset,
				 .rule = go_rule_at(function, offset)};
	struct stubs *stubs = function->rows;
	size_t at = function->first;

	while (at < stubs->rows.count && stubs->rows.items[at].vaddr < added.vaddr)
		at++;
	if (at < stubs->rows.count && stubs->rows.items[at].vaddr == added.vaddr)
		return;
	vec_push(&stubs->rows, added);
	for (size_t i = stubs->rows.count - 1; i > at; i--)
		stubs->rows.items[i] = stubs->rows.items[i - 1];
	stubs->rows.items[at] = added;
}

void go_replace(const struct go_function *function, size_t from, size_t to, struct unwind_rule rule)
{
	split_row(function, from);
	if (to < function->code.size)
		split_row(function, to);
	for (size_t i = function->first; i < function->rows->rows.count; i++) {
		struct stub_row *row = &function->rows->rows.items[i];

		if (row->vaddr - function->code.vaddr >= from &&
		    row->vaddr - function->code.vaddr < to)
			row->rule = rule;
	}
}

/* Returns the row for a function's name, or NULL. */
static const struct go_special *find_special(const struct go_arch *arch,
					     const struct pclntab_function *function)
{
	/* Nearly all other functions have no flag and another package. */
	if (!(function->flags & PCLNTAB_WRITES_SP) && strncmp(function->name, "runtime.", 8) != 0)
		return NULL;
	for (const struct go_special *special = arch->specials; special->name; special++) {
		if (strcmp(function->name, special->name) == 0)
			return special;
	}
	return NULL;
}

static void add_function(struct go_rows *r, const struct pclntab_function *function)
{
	const struct go_special *special = find_special(r->arch, function);
	bool writes_sp = function->flags & PCLNTAB_WRITES_SP;
	struct go_function mended = {.rows = r->stubs, .first = r->stubs->rows.count};
	struct go_saves saves = {.is_saved = true};

	if (special || writes_sp || function->flags & PCLNTAB_ASSEMBLER) {
		mended.code = read_code(r, function);
		saves = r->arch->saves(&mended.code);
	}
	add_frames(r, function, saves);
	if (r->stubs->rows.count == mended.first)
		return;
	if (special && special->mend)
		special->mend(&mended, &r->layout);
	else if (!special && writes_sp)
		r->arch->mend_sp_writer(&mended);
}

static void read_layout(struct go_rows *r)
{
	struct pclntab_function function;
	struct go_code code;

	for (uint32_t i = 0; i < r->go.table.count; i++) {
		if (!pclntab_function(&r->go.table, i, &function) ||
		    !(function.flags & PCLNTAB_WRITES_SP) ||
		    strcmp(function.name, "runtime.systemstack") != 0)
			continue;
		code = read_code(r, &function);
		r->arch->read_layout(&r->layout, &code, &r->go);
		return;
	}
}

/* Adds the rows of all functions, whose starts must not decrease. */
static void add_all(struct go_rows *r)
{
	struct pclntab_function function;
	uint64_t end = 0;

	read_layout(r);
	for (uint32_t i = 0; i < r->go.table.count; i++) {
		if (!pclntab_function(&r->go.table, i, &function) || function.start < end)
			continue;
		add_function(r, &function);
		end = function.end;
	}
	stubs_add_row(r->stubs, r->go.text + end,
		      (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
}

bool go_rows_add(struct stubs *stubs, const struct cfi_file *file)
{
	struct go_rows rows = {.arch = file->arch->go, .stubs = stubs};

	if (!rows.arch || !go_file_find(&rows.go, file))
		return false;
	add_all(&rows);
	free(rows.buffer.data);
	go_file_release(&rows.go);
	return true;
}

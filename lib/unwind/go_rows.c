/* SPDX-License-Identifier: MIT */
#include "lib/unwind/go_rows.h"

#include <stdlib.h>
#include <string.h>

#include "lib/unwind/go_code.h"
#include "lib/unwind/go_file.h"

/* Bytes read of a function of the runtime; the largest of them has some 400. */
#define MAX_CODE_SIZE 1024

struct go_rows {
	const struct cfi_file *file;
	const struct go_arch *arch;
	struct stubs *stubs;
	struct pclntab table;
	uint64_t text; /* vaddr */
	struct go_layout layout;
	struct unwind_rule ordinary; /* the last rule of a frame, and its size */
	uint64_t ordinary_size;
};

static void read_code(const struct go_rows *go, const struct pclntab_function *function,
		      uint8_t bytes[MAX_CODE_SIZE], struct go_code *code)
{
	uint64_t vaddr = go->text + function->start, size = function->end - function->start;
	struct file_range range = cfi_file_find(go->file, vaddr);
	struct cfi_buffer buffer = {0};

	*code = (struct go_code){.bytes = bytes, .vaddr = vaddr};
	if (range.size > size)
		range.size = size;
	if (range.size > MAX_CODE_SIZE)
		range.size = MAX_CODE_SIZE;
	if (cfi_file_read_into(go->file, &range, &buffer, &code->size, NULL) == 0)
		memcpy(bytes, buffer.data, code->size);
	free(buffer.data);
}

static struct unwind_rule frame_rule(struct go_rows *go, uint64_t size, bool saves_fp)
{
	if (size != go->ordinary_size || !saves_fp) {
		struct unwind_rule rule = go->arch->frame(size, saves_fp);

		if (!saves_fp)
			return rule;
		go->ordinary = rule;
		go->ordinary_size = size;
	}
	return go->ordinary;
}

/* Adds rows where the frame's size changes. */
static void add_frames(struct go_rows *go, const struct pclntab_function *function, bool saves_fp)
{
	uint64_t at = function->start;
	struct pclntab_values values;

	pclntab_values_init(&values, &go->table, function->frame);
	while (at < function->end && pclntab_values_next(&values)) {
		struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_NONE};

		if (values.value >= 0)
			rule = frame_rule(go, (uint64_t)values.value, saves_fp);
		stubs_add_row(go->stubs, go->text + at, rule);
		at = function->start + values.end;
	}
	if (at < function->end)
		stubs_add_row(go->stubs, go->text + at,
			      (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
}

/* Has the function rows that its frame's size does not tell? */
static bool is_special(const struct pclntab_function *function)
{
	static const char *const names[] = {"runtime.execute", "runtime.sigpanic",
					    "runtime.asyncPreempt", "runtime.sigreturn__sigaction",
					    "runtime.sigreturn"};

	if (function->flags & (PCLNTAB_TOP_FRAME | PCLNTAB_WRITES_SP))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(function->name, names[i]) == 0)
			return true;
	}
	return false;
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

static void add_function(struct go_rows *go, const struct pclntab_function *function)
{
	struct go_function special = {
		.name = function->name,
		.writes_sp = function->flags & PCLNTAB_WRITES_SP,
		.rows = go->stubs,
		.first = go->stubs->rows.count,
	};
	uint8_t bytes[MAX_CODE_SIZE];
	bool is_named = is_special(function);
	bool saves_fp = true;

	if (is_named || function->flags & PCLNTAB_ASSEMBLER) {
		read_code(go, function, bytes, &special.code);
		saves_fp = go->arch->saves_fp(&special.code);
	}
	add_frames(go, function, saves_fp);
	if (is_named && go->stubs->rows.count > special.first)
		go->arch->mend_rows(&special, &go->layout);
}

static void read_layout(struct go_rows *go)
{
	struct pclntab_function function;
	uint8_t bytes[MAX_CODE_SIZE];
	struct go_code code;

	for (uint32_t i = 0; i < go->table.count && !go->layout.is_known; i++) {
		if (!pclntab_function(&go->table, i, &function) ||
		    !(function.flags & PCLNTAB_WRITES_SP) ||
		    strcmp(function.name, "runtime.systemstack") != 0)
			continue;
		read_code(go, &function, bytes, &code);
		go->arch->read_layout(&go->layout, &code, go->file);
	}
}

/* Adds the rows of all functions, whose starts must not decrease. */
static void add_all(struct go_rows *go)
{
	struct pclntab_function function;
	uint64_t end = 0;

	read_layout(go);
	for (uint32_t i = 0; i < go->table.count; i++) {
		if (!pclntab_function(&go->table, i, &function) || function.start < end)
			continue;
		add_function(go, &function);
		end = function.end;
	}
	stubs_add_row(go->stubs, go->text + end, (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
}

bool go_rows_add(struct stubs *stubs, const struct cfi_file *file)
{
	struct go_rows go = {.file = file, .arch = file->arch->go, .stubs = stubs};
	struct go_file found;

	if (!go.arch || !go_file_find(&found, file))
		return false;
	go.table = found.table;
	go.text = found.text;
	go.ordinary_size = UINT64_MAX;
	add_all(&go);
	go_file_release(&found);
	return true;
}

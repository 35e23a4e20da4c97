/* SPDX-License-Identifier: MIT */
#include "lib/unwind/go_rows.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/binary/pclntab.h"
#include "lib/unwind/go_code.h"

/* Larger tables are ignored; that of a program with 100 MB of code has some 60 MB. */
#define MAX_TABLE_SIZE (256u << 20)
#define MAX_RELOCATIONS_SIZE (64u << 20)
/* Bytes read of a function of the runtime; the largest of them has some 400. */
#define MAX_CODE_SIZE 1024
/* Place of the address of Go's code in .go.module (struct moduledata), since Go 1.26. */
#define MODULE_TEXT_AT 176
/* The linker aligns the table to 32 bytes, or 8 since Go 1.26. */
#define TABLE_ALIGNMENT 8

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

uint64_t go_relocated_word(const struct cfi_file *file, uint64_t vaddr, uint32_t *type)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct file_range range = file->relocations;
	struct bytes b;
	size_t size;

	if (!range.size || range.size > MAX_RELOCATIONS_SIZE ||
	    cfi_file_read(file, &range, &data, &size, NULL) != 0)
		return 0;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= sizeof(Elf64_Rela)) {
		uint64_t at = bytes_u64(&b), info = bytes_u64(&b), addend = bytes_u64(&b);

		if (at != vaddr)
			continue;
		*type = ELF64_R_TYPE(info);
		return addend;
	}
	return 0;
}

static uint64_t read_u64(const struct cfi_file *file, const struct file_range *from, uint64_t at)
{
	struct file_range range = {.offset = from->offset + at, .size = 8};
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t value = 0;
	size_t size;

	if (at > from->size || from->size - at < 8 ||
	    cfi_file_read(file, &range, &data, &size, NULL) != 0 || size != 8)
		return 0;
	memcpy(&value, data, sizeof(value));
	return value;
}

/* Returns the vaddr of Go's code; position-independent programs may tell it by relocation alone. */
static uint64_t find_text(const struct cfi_file *file, const struct pclntab *table,
			  uint64_t table_vaddr)
{
	uint64_t text = table->text;
	uint32_t type;

	if (!text)
		text = read_u64(file, &file->go_module, MODULE_TEXT_AT);
	if (!text && file->go_module.size)
		text = go_relocated_word(file, file->go_module.vaddr + MODULE_TEXT_AT, &type);
	if (!text)
		text = go_relocated_word(file, table_vaddr + PCLNTAB_TEXT_AT, &type);
	return text ? text : file->text.vaddr;
}

/* Does all the code of the table lie in one executable range? */
static bool is_code(const struct go_rows *go)
{
	struct pclntab_function first, last;

	if (!pclntab_function(&go->table, 0, &first) ||
	    !pclntab_function(&go->table, go->table.count - 1, &last))
		return false;
	vec_for_each(&go->file->code, const struct code_range *, code) {
		if (go->text >= code->start && go->text < code->end &&
		    last.end <= code->end - go->text && first.start <= last.end)
			return true;
	}
	return false;
}

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
					    "runtime.asyncPreempt",
					    "runtime.sigreturn__sigaction",
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

void go_replace(const struct go_function *function, size_t from, size_t to,
		struct unwind_rule rule)
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

/* Finds the table in a section that the system's linker has put it in. */
static bool find_table(const uint8_t *data, size_t size, size_t *at)
{
	for (*at = 0; *at + PCLNTAB_HEADER_SIZE <= size; *at += TABLE_ALIGNMENT) {
		if (pclntab_is_header(data + *at))
			return true;
	}
	return false;
}

static bool add_from(struct go_rows *go, const struct file_range *range)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size, at;

	if (!range->size || range->size > MAX_TABLE_SIZE ||
	    cfi_file_read(go->file, range, &data, &size, NULL) != 0 ||
	    !find_table(data, size, &at) || !pclntab_init(&go->table, data + at, size - at))
		return false;
	go->text = find_text(go->file, &go->table, range->vaddr + at);
	if (!is_code(go))
		return false;
	add_all(go);
	return true;
}

bool go_rows_add(struct stubs *stubs, const struct cfi_file *file)
{
	struct go_rows go = {.file = file, .arch = file->arch->go, .stubs = stubs};

	go.ordinary_size = UINT64_MAX;
	if (!go.arch || !file->go_build_info.size)
		return false;
	return add_from(&go, &file->go_functions) || add_from(&go, &file->relro);
}

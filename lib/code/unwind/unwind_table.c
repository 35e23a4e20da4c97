/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/unwind_table.h"

#include "lib/code/binary/objects.h"
#include "lib/code/unwind/cfi_data.h"
#include "lib/code/unwind/cfi_file.h"
#include "lib/code/unwind/compile.h"
#include "lib/code/unwind/go_code.h"
#include "lib/code/unwind/go_file.h"
#include "lib/code/unwind/sframe.h"
#include "lib/code/unwind/stub_rows.h"

/*
 * Rows for the code of Go programs, from the frame sizes in Go's function table
 * (lib/code/unwind/go_file.h), which stripped programs have as well. Go's CFI, if present at all,
 * states neither where the frame pointer is saved nor how the runtime switches stacks.
 */

struct go_rows {
	struct go_file go;
	const struct go_arch *arch;
	struct stubs *stubs;
	struct go_layout layout;
	struct cfi_buffer buffer; /* the code of one function */
};

/* Reads a function's code, valid until the next one is read. */
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
	/* Nearly all other functions have no flag and belong to another package. */
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

/*
 * Adds the rows in order of address. Returns false if it is not a Go program, or its version has no
 * rows.
 */
static bool go_rows_add(struct stubs *stubs, const struct cfi_file *file)
{
	struct go_rows rows = {.arch = file->arch->go, .stubs = stubs};

	if (!rows.arch || !go_file_find(&rows.go, file))
		return false;
	add_all(&rows);
	free(rows.buffer.data);
	go_file_release(&rows.go);
	return true;
}

/* Maximum size of a .text that is searched as a whole: for the vDSO's. */
#define MAX_SMALL_TEXT 16384
/* Maximum size of a .text that is searched for signal handlers' return addresses. */
#define MAX_RESTORER_TEXT (64u << 20)
#define MAX_SFRAME_SIZE (64u << 20)
/* Larger stub sections get no rows. */
#define MAX_STUB_SIZE (16u << 20)

struct unwind_scratch {
	struct cfi_data data;
	VEC(struct unwind_row) rows;
};

struct unwind_scratch *unwind_scratch_new(void)
{
	return xcalloc(1, sizeof(struct unwind_scratch));
}

void unwind_scratch_free(struct unwind_scratch *scratch)
{
	if (!scratch)
		return;
	cfi_data_release(&scratch->data);
	vec_release(&scratch->rows);
	free(scratch);
}

struct unwind_row *unwind_scratch_rows(const struct unwind_scratch *scratch)
{
	return scratch->rows.items;
}

const struct unwind_arch *unwind_arch_find(uint16_t machine)
{
	static const struct unwind_arch *const archs[] = {&unwind_arch_x86_64, &unwind_arch_aarch64,
							  &unwind_arch_i386};

	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
		if (archs[i]->machine == machine)
			return archs[i];
	}
	return NULL;
}

/* Ignores stubs outside of code, like FDEs. */
static bool is_code(const struct cfi_file *file, const struct file_range *range)
{
	return vec_find(&file->code, code,
			range->vaddr >= code->start && range->vaddr < code->end &&
				range->size <= code->end - range->vaddr);
}

static void add_stub(struct stubs *stubs, const struct cfi_file *file, enum stub_kind kind,
		     const struct file_range *range, size_t max_size)
{
	struct stub_code code = {.kind = kind, .vaddr = range->vaddr};
	_cleanup_free_ uint8_t *data = NULL;

	if (!range->size || range->size > max_size || !is_code(file, range) ||
	    cfi_file_read(file, range, &data, &code.size, NULL) != 0)
		return;
	code.code = data;
	stubs_add(stubs, file->arch, &code);
}

static bool is_in_code(const struct cfi_file *file, uint64_t vaddr)
{
	const struct file_range place = {.vaddr = vaddr, .size = 1};

	return is_code(file, &place);
}

/* Adds rows of .sframe, unless .eh_frame, which is larger for the same code, has them. */
static void add_sframe(struct stubs *stubs, const struct cfi_file *file)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size, first = stubs->rows.count, kept = first;

	if (!file->sframe.size || file->sframe.size > MAX_SFRAME_SIZE ||
	    file->eh_frame.size >= file->sframe.size ||
	    cfi_file_read(file, &file->sframe, &data, &size, NULL) != 0)
		return;
	sframe_add(stubs, file->arch, data, size, file->sframe.vaddr);
	/* The end of a function may be that of its range. */
	for (size_t i = first; i < stubs->rows.count; i++) {
		const struct stub_row row = stubs->rows.items[i];

		if (is_in_code(file, row.vaddr - (row.rule.cfa_kind == UNWIND_CFA_NONE)))
			stubs->rows.items[kept++] = row;
	}
	stubs->rows.count = kept;
}

/* Returns true for a Go program. */
static bool add_stubs(struct stubs *stubs, struct cfi_file *file)
{
	bool is_go;

	add_stub(stubs, file, STUB_PLT, &file->plt, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_PLT_JUMPS, &file->plt_sec, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_PLT_JUMPS, &file->plt_got, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_INIT_FINI, &file->init, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_INIT_FINI, &file->fini, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_TEXT, &file->text, MAX_SMALL_TEXT);
	add_sframe(stubs, file);
	/* The rows of Go's functions hold more facts than its .debug_frame. */
	is_go = go_rows_add(stubs, file);
	/*
	 * Programs that load glibc use its CFI, unless they are at a fixed address, like Pascal's.
	 */
	if (!is_go && file->entry && (!file->has_interpreter || file->has_fixed_place))
		add_stub(stubs, file, STUB_RESTORERS, &file->text, MAX_RESTORER_TEXT);
	if (is_go) {
		file->debug_frame.size = 0;
		file->packed_debug_frame = false;
	}
	stubs_sort(stubs);
	return is_go;
}

/* Tables live as long as their modules, so they are copied to memory of exact size. */
static void take_rows(struct unwind_table *table, struct unwind_scratch *scratch)
{
	size_t size = table->rows.count * sizeof(*table->rows.items);

	scratch->rows.items = table->rows.items;
	scratch->rows.capacity = table->rows.capacity;
	table->rows.items = size ? xmemdup(scratch->rows.items, size) : NULL;
	table->rows.capacity = table->rows.count;
	if (!table->index.count)
		return;
	table->index.capacity = table->index.count;
	table->index.items = xreallocarray(table->index.items, table->index.count,
					   sizeof(*table->index.items));
}

static int compile_into(const struct compile_input *input, struct unwind_rules *rules,
			struct unwind_scratch *scratch, struct unwind_table *table,
			struct error *err)
{
	int ret;

	table->rows.items = scratch->rows.items;
	table->rows.capacity = scratch->rows.capacity;
	ret = compile_table(input, rules, table, err);
	take_rows(table, scratch);
	return ret;
}

static bool read_gap(const void *ctx, uint64_t vaddr, void *to, size_t size)
{
	const struct cfi_file *file = ctx;
	struct file_range range = cfi_file_find(file, vaddr);

	return size <= range.size &&
	       pread(file->fd, to, size, (off_t)range.offset) == (ssize_t)size;
}

/* The library of greenlets, which are Python's, is smaller. */
#define GREENLET_TEXT_MAX (512u << 10)

/*
 * Returns the vaddr of greenlet's function that runs a new one. While another one runs, the stack
 * is in a copy, so that callers further out are those of any greenlet.
 */
static uint64_t find_greenlet(const struct cfi_file *file)
{
	struct binary_object start = {.name = "_ZN8greenlet12UserGreenlet13g_initialstubEPv"};
	struct binary *b;

	if (file->has_interpreter || file->has_fixed_place || file->text.size > GREENLET_TEXT_MAX ||
	    binary_open(&b, file->fd, NULL))
		return 0;
	binary_find_exported(b, &start, 1);
	binary_free(b);
	return start.is_there ? start.vaddr : 0;
}

static int compile(struct cfi_file *file, const struct stubs *stubs, struct code_range derived,
		   struct unwind_rules *rules, struct unwind_scratch *scratch,
		   struct unwind_table *table, struct error *err)
{
	struct compile_input input = {
		.arch = file->arch,
		.code = file->code.items,
		.code_count = file->code.count,
		.read_code = read_gap,
		.ctx = file,
		.entry = file->entry,
		.is_program = file->has_fixed_place,
		.greenlet = find_greenlet(file),
		.stubs = stubs->rows.items,
		.stub_count = stubs->rows.count,
		.derived = derived,
	};
	const struct cfi_data *data = &scratch->data;
	int ret = cfi_data_read(&scratch->data, file, err);

	input.cfi = data->cfi;
	input.hdr = data->hdr;
	input.more = data->more;
	input.is_debug_frame = data->is_debug_frame;
	return ret ? ret : compile_into(&input, rules, scratch, table, err);
}

static int compile_file(struct cfi_file *file, struct unwind_rules *rules,
			struct unwind_scratch *scratch, struct unwind_table *table,
			struct error *err)
{
	struct code_range derived = {0};
	struct stubs stubs = {0};
	int ret;

	/* The frames of Go's functions without rows cannot be derived from their returns. */
	if (!add_stubs(&stubs, file) && is_code(file, &file->text))
		derived = (struct code_range){file->text.vaddr, file->text.vaddr + file->text.size};
	ret = compile(file, &stubs, derived, rules, scratch, table, err);
	stubs_release(&stubs);
	return ret;
}

int unwind_table_compile(int fd, struct unwind_rules *rules, struct unwind_scratch *scratch,
			 struct unwind_table *table, struct error *err)
{
	struct unwind_scratch *own = scratch ? NULL : unwind_scratch_new();
	struct cfi_file file;
	int ret;

	*table = (struct unwind_table){0};
	ret = cfi_file_open(&file, fd, err);
	if (ret == 0)
		ret = compile_file(&file, rules, scratch ? scratch : own, table, err);
	if (ret == 0)
		table->entry = file.entry;
	else
		unwind_table_release(table);
	cfi_file_release(&file);
	unwind_scratch_free(own);
	return ret;
}

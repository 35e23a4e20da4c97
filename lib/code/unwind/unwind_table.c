/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/unwind_table.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/code/unwind/cfi_data.h"
#include "lib/code/unwind/cfi_file.h"
#include "lib/code/unwind/compile.h"
#include "lib/code/unwind/go_rows.h"
#include "lib/code/unwind/stubs.h"

/* Maximum size of a .text searched as a whole: for the vDSO's. */
#define MAX_SMALL_TEXT 16384
/* Larger sections of stubs stay without rows. */
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

/* Stubs outside of code are ignored, like FDEs. */
static bool is_code(const struct cfi_file *file, const struct file_range *range)
{
	vec_for_each(&file->code, const struct code_range *, code) {
		if (range->vaddr >= code->start && range->vaddr < code->end &&
		    range->size <= code->end - range->vaddr)
			return true;
	}
	return false;
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

static void add_stubs(struct stubs *stubs, struct cfi_file *file)
{
	add_stub(stubs, file, STUB_PLT, &file->plt, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_PLT_JUMPS, &file->plt_sec, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_PLT_JUMPS, &file->plt_got, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_INIT_FINI, &file->init, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_INIT_FINI, &file->fini, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_TEXT, &file->text, MAX_SMALL_TEXT);
	/* The rows of Go's functions say more than its .debug_frame. */
	if (go_rows_add(stubs, file)) {
		file->debug_frame.size = 0;
		file->packed_debug_frame = false;
	}
	stubs_sort(stubs);
}

/* Tables live as long as their modules, so they get no more room than they need. */
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

static int compile(struct cfi_file *file, const struct stubs *stubs, struct unwind_rules *rules,
		   struct unwind_scratch *scratch, struct unwind_table *table, struct error *err)
{
	struct compile_input input = {
		.arch = file->arch,
		.code = file->code.items,
		.code_count = file->code.count,
		.stubs = stubs->rows.items,
		.stub_count = stubs->rows.count,
	};
	const struct cfi_data *data = &scratch->data;
	int ret = cfi_data_read(&scratch->data, file, err);

	input.cfi = data->cfi;
	input.hdr = data->hdr;
	input.is_debug_frame = data->is_debug_frame;
	return ret ? ret : compile_into(&input, rules, scratch, table, err);
}

static int compile_file(struct cfi_file *file, struct unwind_rules *rules,
			struct unwind_scratch *scratch, struct unwind_table *table,
			struct error *err)
{
	struct stubs stubs = {0};
	int ret;

	add_stubs(&stubs, file);
	ret = compile(file, &stubs, rules, scratch, table, err);
	/* .eh_frame is empty or has only the C runtime's FDEs: use .debug_frame. */
	if (ret == 0 && !table->stats.fdes && file->eh_frame.size && file->debug_frame.size) {
		file->eh_frame.size = file->eh_frame_hdr.size = 0;
		unwind_table_release(table);
		ret = compile(file, &stubs, rules, scratch, table, err);
	}
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

/* SPDX-License-Identifier: MIT */
#include "lib/unwind/table.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/unwind/cfi_file.h"
#include "lib/unwind/compile.h"
#include "lib/unwind/stubs.h"

/* A .text that small is looked at whole: the vDSO's. */
#define MAX_SMALL_TEXT 16384
/* Linker's stubs beyond this stay without rows. */
#define MAX_STUB_SIZE (16u << 20)

const struct unwind_arch *unwind_arch_find(uint16_t machine)
{
	if (machine == unwind_arch_x86_64.machine)
		return &unwind_arch_x86_64;
	return machine == unwind_arch_aarch64.machine ? &unwind_arch_aarch64 : NULL;
}

/* As FDEs, stubs that are not where code is are not believed. */
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

static void add_stubs(struct stubs *stubs, const struct cfi_file *file)
{
	add_stub(stubs, file, STUB_PLT, &file->plt, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_PLT_JUMPS, &file->plt_sec, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_PLT_JUMPS, &file->plt_got, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_INIT_FINI, &file->init, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_INIT_FINI, &file->fini, MAX_STUB_SIZE);
	add_stub(stubs, file, STUB_TEXT, &file->text, MAX_SMALL_TEXT);
	stubs_sort(stubs);
}

static int compile(const struct cfi_file *file, const struct stubs *stubs,
		   struct unwind_rules *rules, struct unwind_table *table, struct error *err)
{
	_cleanup_free_ uint8_t *cfi = NULL, *hdr = NULL;
	bool is_debug_frame = !file->eh_frame.size;
	const struct file_range *range = is_debug_frame ? &file->debug_frame : &file->eh_frame;
	struct compile_input input = {
		.arch = file->arch,
		.cfi.vaddr = range->vaddr,
		.hdr.vaddr = file->eh_frame_hdr.vaddr,
		.is_debug_frame = is_debug_frame,
		.code = file->code.items,
		.code_count = file->code.count,
		.stubs = stubs->rows.items,
		.stub_count = stubs->rows.count,
	};
	int ret;

	if (is_debug_frame && file->packed_debug_frame)
		ret = cfi_file_inflate(file, &cfi, &input.cfi.size, err);
	else
		ret = cfi_file_read(file, range, &cfi, &input.cfi.size, err);
	if (ret)
		return ret;
	input.cfi.data = cfi;
	if (!is_debug_frame) {
		ret = cfi_file_read(file, &file->eh_frame_hdr, &hdr, &input.hdr.size, err);
		if (ret)
			return ret;
		input.hdr.data = hdr;
	}
	return compile_table(&input, rules, table, err);
}

/* Without section headers, .eh_frame is where .eh_frame_hdr says, and reaches who knows how far. */
static int find_eh_frame(struct cfi_file *file, struct error *err)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct cfi_section section = {.vaddr = file->eh_frame_hdr.vaddr};
	struct eh_frame_hdr hdr;
	int ret;

	if (file->eh_frame.size || !file->eh_frame_hdr.size)
		return 0;
	ret = cfi_file_read(file, &file->eh_frame_hdr, &data, &section.size, err);
	if (ret)
		return ret;
	section.data = data;
	eh_frame_hdr_read(&hdr, &section);
	file->eh_frame = cfi_file_find(file, hdr.target);
	if (file->eh_frame.size > CFI_FILE_MAX_CFI)
		file->eh_frame.size = CFI_FILE_MAX_CFI;
	return 0;
}

static int compile_file(struct cfi_file *file, struct unwind_rules *rules,
			struct unwind_table *table, struct error *err)
{
	struct stubs stubs = {0};
	int ret = find_eh_frame(file, err);

	if (ret)
		return ret;
	add_stubs(&stubs, file);
	ret = compile(file, &stubs, rules, table, err);
	/* crtbegin.o's empty .eh_frame, or what came with the C library: the rest is elsewhere. */
	if (ret == 0 && !table->stats.fdes && file->eh_frame.size && file->debug_frame.size) {
		file->eh_frame.size = 0;
		unwind_table_release(table);
		ret = compile(file, &stubs, rules, table, err);
	}
	stubs_release(&stubs);
	return ret;
}

int unwind_table_compile(int fd, struct unwind_rules *rules, struct unwind_table *table,
			 struct error *err)
{
	struct cfi_file file;
	int ret;

	*table = (struct unwind_table){0};
	ret = cfi_file_open(&file, fd, err);
	if (ret == 0)
		ret = compile_file(&file, rules, table, err);
	if (ret == 0)
		table->entry = file.entry;
	else
		unwind_table_release(table);
	cfi_file_release(&file);
	return ret;
}

/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as .eh_frame_hdr and .eh_frame, without an ELF file: a byte of flags, two bytes with
 * the size of the former, then both.
 */
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/code/unwind/compile.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/table_check.h"

enum { IS_ARM64 = 1, IS_DEBUG_FRAME = 2, HAS_STUBS = 4, IS_I386 = 8 };

/* Addresses at which tests/fuzz/make-seeds links the seeds. */
#define HDR_VADDR 0x8000
#define CFI_VADDR 0x10000

/* A block of exact size, so that sanitizers see reads beyond it. */
static struct cfi_section take_section(struct bytes *b, size_t size, uint64_t vaddr)
{
	struct cfi_section section = {.size = size, .vaddr = vaddr};
	const void *data = bytes_take(b, size);

	section.data = xmemdup(data ? data : "", data ? size : 0);
	section.size = data ? size : 0;
	return section;
}

static void add_stubs(struct stubs *stubs, const struct unwind_arch *arch)
{
	static const uint64_t vaddrs[] = {0x1000, 0x1010, 0x1100, 0x2000, 0x10000, 0x20000};

	for (size_t i = 0; i < sizeof(vaddrs) / sizeof(vaddrs[0]); i++)
		stubs_add_row(stubs, vaddrs[i],
			      i % 2 ? (struct unwind_rule){0} : stubs_rule_at_entry(arch, 8));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_range code[] = {{0x1000, 0x8000}, {0x9000, 0x400000}};
	struct compile_input input = {.code = code, .code_count = 2};
	struct unwind_table table = {0};
	struct unwind_rules rules;
	struct stubs stubs = {0};
	struct bytes b;
	uint8_t flags;

	bytes_init(&b, data, size);
	flags = bytes_u8(&b);
	input.arch = flags & IS_I386	? &unwind_arch_i386
		     : flags & IS_ARM64 ? &unwind_arch_aarch64
					: &unwind_arch_x86_64;
	input.is_debug_frame = flags & IS_DEBUG_FRAME;
	if (flags & HAS_STUBS)
		add_stubs(&stubs, input.arch);
	input.stubs = stubs.rows.items;
	input.stub_count = stubs.rows.count;
	input.hdr = take_section(&b, bytes_u16(&b), HDR_VADDR);
	input.cfi = take_section(&b, bytes_left(&b), CFI_VADDR);
	unwind_rules_init(&rules);
	if (compile_table(&input, &rules, &table, NULL) == 0)
		check_table(&table, &rules, size);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
	stubs_release(&stubs);
	free((void *)input.hdr.data);
	free((void *)input.cfi.data);
	return 0;
}

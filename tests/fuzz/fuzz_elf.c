/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an ELF file, through everything that reads one: a recording's questions, then names.
 */
#include <stdbool.h>

#include "lib/code/binary/binary.h"
#include "lib/code/binary/debug_sections.h"
#include "lib/code/unwind/eh_frame.h"
#include "lib/code/unwind/unwind_table.h"
#include "symbolize/module_files.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/name_all.h"
#include "tests/fuzz/table_check.h"

static void summarize(int fd)
{
	struct binary_summary summary;

	if (binary_summarize(fd, &summary, NULL))
		return;
	if (summary.build_id_size > BUILD_ID_MAX)
		abort();
	binary_summary_release(&summary);
}

static void compile(int fd, size_t size)
{
	struct unwind_rules rules;
	struct unwind_table table;

	unwind_rules_init(&rules);
	if (unwind_table_compile(fd, &rules, NULL, &table, NULL) == 0)
		check_table(&table, &rules, size);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
}

static void find_ranges(int fd)
{
	struct fde_ranges *ranges;
	struct fde_range range;

	if (fde_ranges_new(&ranges, fd, NULL))
		return;
	for (uint64_t rva = 0; rva < NAME_ALL_RVAS; rva++) {
		if (fde_ranges_find(ranges, rva, &range) &&
		    (rva < range.rva || rva - range.rva >= range.size))
			abort();
	}
	fde_ranges_free(ranges);
}

static void name(int fd)
{
	const struct symbolizer_ops *const all[] = {&symbolizer_elf, &symbolizer_dwarf,
						    &symbolizer_fde};
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	struct symbolizer_input input = {.module = &module, .fd = fd};
	struct module_files *files = module_files_new(&input);

	input.files = files;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		name_all(all[i], &input);
		input.has_symbols = true;
	}
	module_files_unref(files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);

	summarize(fd);
	compile(fd, size);
	find_ranges(fd);
	name(fd);
	close(fd);
	return 0;
}

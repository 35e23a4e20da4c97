/* SPDX-License-Identifier: MIT */
/* Functions, inlined calls and lines from DWARF, by libdw. */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/binary/binary.h"
#include "symbolize/debug_info.h"

/* Compilers' output shrinks to a fifth; what shrinks more than this was made to fill memory. */
#define MAX_INFLATION 50
#define FREE_INFLATION ((uint64_t)64 << 20)
/* Every entry and line takes more than a byte, and none is visited more often than this. */
#define STEPS_PER_BYTE 4

/* A third of all debug information, about variables, macros and names; not asked for here. */
static const char *const unused_sections[] = {
	".debug_loc",	       ".debug_loclists", ".debug_macro",    ".debug_macinfo",
	".debug_aranges",      ".debug_pubnames", ".debug_pubtypes", ".debug_gnu_pubnames",
	".debug_gnu_pubtypes", ".debug_names",	  ".debug_frame",    NULL,
};

static void info_free(struct symbolizer *base);

static void free_info(struct debug_info *info)
{
	info_free(&info->base);
}
DEFINE_CLEANUP(struct debug_info *, free_info)

static int check_size(const struct binary *b, struct error *err)
{
	uint64_t limit = binary_file_size(b) * MAX_INFLATION + FREE_INFLATION;

	if (binary_expanded_size(b) > limit)
		return error_text(err, -EFBIG, "sections would inflate to %llu bytes",
				  (unsigned long long)binary_expanded_size(b));
	return 0;
}

/* The file itself where it was not stripped, else its debug file. */
static int choose_binary(struct debug_info *info, const struct symbolizer_input *input,
			 struct binary **chosen, struct error *err)
{
	int ret;

	if (input->fd >= 0 && binary_open(&info->binary, input->fd, err) == 0 &&
	    (binary_has_section(info->binary, ".debug_info") ||
	     binary_has_section(info->binary, ".zdebug_info"))) {
		*chosen = info->binary;
		return 0;
	}
	ret = debug_file_open(&info->debug, input, err);
	*chosen = info->debug.binary;
	return ret;
}

/*
 * dwz moves what several files have in common into a file of its own. libdw would open whatever
 * path this file names, so it is given the right one, or the whole is left alone.
 */
static int open_shared_part(struct debug_info *info, const struct symbolizer_input *input,
			    struct error *err)
{
	const char *name;
	const void *build_id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(info->dwarf, &name, &build_id);
	int ret;

	if (size <= 0)
		return 0;
	ret = debug_file_open_by_id(&info->shared, build_id, (size_t)size, input->debug_dirs, err);
	if (ret == 0)
		ret = check_size(info->shared.binary, err);
	if (ret) {
		error_wrap(err, "part shared with other files");
		return ret;
	}
	info->shared_dwarf = dwarf_begin_elf(binary_elf(info->shared.binary), DWARF_C_READ, NULL);
	if (!info->shared_dwarf)
		return error_text(err, -ENOENT, "part shared with other files: no DWARF");
	dwarf_setalt(info->dwarf, info->shared_dwarf);
	return 0;
}

static void find_line_sections(struct debug_info *info)
{
	vec_for_each(&info->sections.rows, const struct binary_section *, it) {
		if (strcmp(it->name, ".debug_line") == 0)
			bytes_init(&info->line_sections.line, it->data, it->size);
		else if (strcmp(it->name, ".debug_line_str") == 0)
			bytes_init(&info->line_sections.line_str, it->data, it->size);
		else if (strcmp(it->name, ".debug_str") == 0)
			bytes_init(&info->line_sections.str, it->data, it->size);
	}
}

static int info_open(struct symbolizer **out, const struct symbolizer_input *input,
		     struct error *err)
{
	_cleanup_(free_info) struct debug_info *info = xcalloc(1, sizeof(*info));
	struct binary *binary;
	int ret;

	info->base.ops = &symbolizer_dwarf;
	info->debug.fd = info->shared.fd = -1;
	ret = choose_binary(info, input, &binary, err);
	if (ret == 0)
		ret = check_size(binary, err);
	if (ret)
		return ret;
	binary_hide_sections(binary, unused_sections);
	info->dwarf = dwarf_begin_elf(binary_elf(binary), DWARF_C_READ, NULL);
	if (!info->dwarf)
		return error_text(err, -ENOENT, "%s", dwarf_errmsg(-1));
	binary_add_debug_sections(binary, &info->sections);
	find_line_sections(info);
	ret = open_shared_part(info, input, err);
	if (ret)
		return ret;
	info->has_symbols = input->has_symbols;
	info->first_vaddr = binary_first_vaddr(binary);
	info->work.left = STEPS_PER_BYTE * binary_expanded_size(binary);
	units_index(info);
	if (!info->segments.rows.count)
		return error_text(err, -ENOENT, "no units with code");
	*out = &steal(info)->base;
	return 0;
}

/* The function's own range around the address serves where no ELF symbol is known. */
static void fill_in_function(struct debug_info *info, struct function *function, uint64_t addr,
			     struct answer *answer)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(&function->die, at, &base, &start, &end)) > 0 &&
	       work_take(&info->work, 1)) {
		if (addr < start || addr >= end || start < info->first_vaddr)
			continue;
		answer->func = answer->chain[0].func;
		answer->func_start = start - info->first_vaddr;
		answer->func_size = end - start;
		return;
	}
}

static void info_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			struct answer *answers)
{
	struct debug_info *info = (struct debug_info *)base;

	for (size_t i = 0; i < count; i++) {
		uint64_t addr = rvas[i] + info->first_vaddr;
		struct unit *unit = units_find(info, addr);
		struct function *function;

		if (!unit || answers[i].chain)
			continue;
		/* What no symbol covers is mostly no code but the space between two functions. */
		function = unit_find_function(info, unit, addr,
					      answers[i].func || !info->has_symbols);
		describe_address(info, unit, function, addr, &answers[i]);
		if (function && (!answers[i].func || answers[i].is_made_up))
			fill_in_function(info, function, addr, &answers[i]);
	}
}

static void info_free(struct symbolizer *base)
{
	struct debug_info *info = (struct debug_info *)base;

	units_release(info);
	memos_release(&info->names);
	path_set_release(&info->paths);
	arena_release(&info->arena);
	vec_release(&info->sections.rows);
	dwarf_end(info->dwarf);
	dwarf_end(info->shared_dwarf);
	debug_file_close(&info->shared);
	debug_file_close(&info->debug);
	binary_free(info->binary);
	free(info);
}

const struct symbolizer_ops symbolizer_dwarf = {
	.name = "dwarf",
	.open = info_open,
	.lookup = info_lookup,
	.free = info_free,
};

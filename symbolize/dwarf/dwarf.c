/* SPDX-License-Identifier: MIT */
/* Reads functions, inlined calls and lines from DWARF with libdw. */
#include <dwarf.h>

#include "symbolize/dwarf/debug_info.h"

static void info_free(struct symbolizer *base);

static void free_info(struct debug_info *info)
{
	info_free(&info->base);
}
DEFINE_CLEANUP(struct debug_info *, free_info)

/* Opens a private handle for sections shared by all workers. */
static int begin(const struct debug_sections *sections, struct Elf **elf, Dwarf **dwarf,
		 struct error *err)
{
	*elf = debug_view_begin(&sections->view);
	*dwarf = *elf ? dwarf_begin_elf(*elf, DWARF_C_READ, NULL) : NULL;
	return *dwarf ? 0 : error_text(err, -ENOEXEC, "%s", dwarf_errmsg(-1));
}

static int begin_all(struct debug_info *info, struct error *err)
{
	int ret;

	info->sections = module_files_debug(info->files, err);
	if (!info->sections)
		return err ? err->code : -ENOENT;
	info->shared = module_files_shared(info->files);
	ret = begin(info->sections, &info->elf, &info->dwarf, err);
	if (ret || !info->shared)
		return ret;
	ret = begin(info->shared, &info->shared_elf, &info->shared_dwarf, err);
	if (ret)
		return error_wrap(err, "debug information shared with other files");
	dwarf_setalt(info->dwarf, info->shared_dwarf);
	caches_add(&info->views, info->shared_dwarf, &info->shared->view);
	return 0;
}

static void find_line_sections(struct debug_info *info)
{
	const struct debug_section *at = info->sections->view.at;

	bytes_init(&info->line_sections.line, at[DEBUG_LINE].data, at[DEBUG_LINE].size);
	bytes_init(&info->line_sections.line_str, at[DEBUG_LINE_STR].data, at[DEBUG_LINE_STR].size);
	bytes_init(&info->line_sections.str, at[DEBUG_STR].data, at[DEBUG_STR].size);
}

static int info_open(struct symbolizer **out, const struct symbolizer_input *input,
		     struct error *err)
{
	_cleanup_(free_info) struct debug_info *info = xcalloc(1, sizeof(*info));
	struct error local = {0};
	int ret;

	if (!input->module)
		return error_text(err, -ENOENT, "no module");
	info->base.ops = &symbolizer_dwarf;
	info->files = input->files ? module_files_ref(input->files) : module_files_new(input);
	ret = begin_all(info, &local);
	if (ret == -ENOEXEC)
		module_files_set_reason(info->files, SYMBOLS_DAMAGED);
	if (ret)
		return error_text(err, ret, "%s", local.text);
	find_line_sections(info);
	info->has_symbols = input->has_symbols;
	info->wants_discriminators = input->wants_discriminators;
	info->first_vaddr = info->sections->first_vaddr;
	info->budget.left = STEPS_PER_BYTE * debug_view_size(&info->sections->view);
	units_index(info);
	if (!info->segments.rows.count) {
		module_files_set_reason(info->files, SYMBOLS_DAMAGED);
		return error_text(err, -ENOENT, "no units with code");
	}
	*out = &steal(info)->base;
	return 0;
}

/* Uses DWARF's range of the function around the address if no ELF symbol is known. */
static void fill_in_function(struct debug_info *info, const struct unit *unit,
			     const struct function *function, uint64_t addr, struct answer *answer)
{
	Dwarf_Die die = unit_die_at(unit, function->at);
	struct intervals ranges = {0};

	die_add_ranges(unit, &die, 0, 0, &ranges, &info->budget);
	vec_for_each(&ranges.rows, const struct interval *, it) {
		if (addr < it->start || addr >= it->end || it->start < info->first_vaddr)
			continue;
		answer->func = answer->chain[0].func;
		answer->func_start = it->start - info->first_vaddr;
		answer->func_size = it->end - it->start;
		break;
	}
	vec_release(&ranges.rows);
}

/*
 * True for code that the linker adds to each file: a stub, or a function of its startup files.
 * Otherwise a search of all units would be needed to find nothing.
 */
static bool is_linkers(const struct answer *answer)
{
	static const char *const names[] = {
		"_start",
		"_init",
		"_fini",
		"_dl_relocate_static_pie",
		"deregister_tm_clones",
		"register_tm_clones",
		"__do_global_dtors_aux",
		"frame_dummy",
	};

	for (size_t i = 0; answer->func && i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(answer->func, names[i]) == 0)
			return true;
	}
	return answer->is_stub;
}

static void info_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			struct answer *answers)
{
	struct debug_info *info = (struct debug_info *)base;

	for (size_t i = 0; i < count; i++) {
		uint64_t addr = rvas[i] + info->first_vaddr;
		struct function *function;
		struct unit *unit;

		if (answers[i].chain)
			continue;
		unit = units_find(info, addr, true);
		if (!unit && !is_linkers(&answers[i]))
			unit = units_find(info, addr, false);
		if (!unit)
			continue;
		/*
		 * An address without a symbol is mostly padding between functions, and not worth a
		 * full walk.
		 */
		function = unit_find_function(info, unit, addr,
					      answers[i].func || !info->has_symbols);
		describe_address(info, unit, function, addr, &answers[i]);
		if (function && (!answers[i].func || answers[i].is_synthetic))
			fill_in_function(info, unit, function, addr, &answers[i]);
	}
}

static void info_free(struct symbolizer *base)
{
	struct debug_info *info = (struct debug_info *)base;

	units_release(info);
	caches_release(&info->names);
	path_set_release(&info->paths);
	abbrev_cache_release(&info->abbrevs);
	arena_release(&info->arena);
	caches_release(&info->views);
	debug_sections_release(&info->package);
	dwarf_end(info->dwarf);
	dwarf_end(info->shared_dwarf);
	debug_view_end(info->elf);
	debug_view_end(info->shared_elf);
	module_files_unref(info->files);
	free(info);
}

const struct symbolizer_ops symbolizer_dwarf = {
	.name = "dwarf",
	.open = info_open,
	.lookup = info_lookup,
	.free = info_free,
};

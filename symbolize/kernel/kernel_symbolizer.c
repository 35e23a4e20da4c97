/* SPDX-License-Identifier: MIT */
/* Names the kernel's code by its recorded name, or else by the table. */
#include "symbolize/kernel/kernel_table.h"
#include "symbolize/symbolizer.h"

/* Size of "bpf_prog_" and the tag: names with the same beginning belong to one program. */
#define CODE_NAME_SIZE 25
#define PAGE_SIZE 4096

struct kernel_symbolizer {
	struct symbolizer base;
	const struct kernel_table *table; /* NULL: only names from the module itself are known */
	const struct module *module; /* NULL: no module */
	uint64_t load_addr;
	/* Recorded name of code that the kernel generated. */
	const char *own_name;
	const char *module_name; /* "[ext4]"; set only for a loaded module */
};

/*
 * True if the table has the module at its recorded address. Modules begin on a page of their own,
 * with code. A module that lookup_files() found loaded has its present address; for others, only
 * the list has one.
 */
static bool has_module(const struct kernel_table *table, const struct module *module,
		       const char *name)
{
	if (!table || !module->base)
		return false;
	return !table->is_list || !module->reason ||
	       kernel_table_module_start(table, name) - module->base < PAGE_SIZE;
}

static int kernel_open(struct symbolizer **out, const struct symbolizer_input *input,
		       struct error *err)
{
	const struct module *module = input->module;
	bool has_own_name = module && module->kind == PROFILE_MODULE_KERNEL_DYNAMIC && module->base;
	bool is_module = module && module->kind == PROFILE_MODULE_KERNEL_MODULE;
	const struct kernel_table *table = input->kernel_symbols;
	struct kernel_symbolizer *n;

	if (is_module && !has_module(table, module, input->path))
		table = NULL;
	if (!table && !has_own_name && !(module && module->symbols.count))
		return error_text(err, -ENOENT, is_module ? "not loaded" : "no kernel symbols");
	n = xcalloc(1, sizeof(*n));
	n->base.ops = &symbolizer_kernel;
	n->table = table;
	n->module = module;
	n->load_addr = module ? module->base : 0;
	n->own_name = has_own_name ? input->path : NULL;
	if (is_module)
		n->module_name = input->path;
	*out = &n->base;
	return 0;
}

/* Finds the name recorded with the code. */
static bool find_own_symbol(const struct kernel_symbolizer *n, uint64_t rva,
			    struct kernel_symbol *symbol)
{
	const struct module_symbol *own = n->module ? module_find_symbol(n->module, rva) : NULL;

	if (!own)
		return false;
	*symbol = (struct kernel_symbol){
		.start = n->load_addr + own->offset,
		.size = own->size,
		.name = own->name,
	};
	return true;
}

/*
 * Outside of modules, a list is only valid for the kernel itself: its modules and generated code
 * date from the time of the list. Generated code with a recorded name can be compared.
 */
static bool is_of_module(const struct kernel_symbolizer *n, const char *name)
{
	if (n->module_name)
		return name && strcmp(name, n->module_name) == 0;
	return !name || n->own_name || !n->table->is_list;
}

/* Finds the name in the list, which may describe other code at that address. */
static bool find_symbol(const struct kernel_symbolizer *n, uint64_t rva,
			struct kernel_symbol *symbol)
{
	bool is_listed = n->table && kernel_table_find(n->table, n->load_addr + rva, symbol);

	/*
	 * Skip symbols of other modules: those before its start, and those listed with another
	 * module.
	 */
	if (is_listed && (symbol->start < n->load_addr || !is_of_module(n, symbol->module)))
		is_listed = false;
	if (!n->own_name)
		return is_listed;
	if (!is_listed || strncmp(symbol->name, n->own_name, CODE_NAME_SIZE) != 0)
		*symbol = (struct kernel_symbol){.start = n->load_addr, .name = n->own_name};
	return true;
}

static void kernel_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			  struct answer *answers)
{
	const struct kernel_symbolizer *n = (const struct kernel_symbolizer *)base;

	for (size_t i = 0; i < count; i++) {
		struct kernel_symbol symbol;

		if (answers[i].func ||
		    (!find_own_symbol(n, rvas[i], &symbol) && !find_symbol(n, rvas[i], &symbol)))
			continue;
		answers[i].func = symbol.name;
		answers[i].func_start = symbol.start - n->load_addr;
		answers[i].func_size = symbol.size;
	}
}

static void kernel_free(struct symbolizer *base)
{
	free(base);
}

const struct symbolizer_ops symbolizer_kernel = {
	.name = "kernel symbols",
	.open = kernel_open,
	.lookup = kernel_lookup,
	.free = kernel_free,
};

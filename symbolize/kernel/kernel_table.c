/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/kernel_table.h"

#include "symbolize/symbolizer.h"

/* Maximum size, ten times the list of a kernel with everything built in. */
#define MAX_TEXT ((size_t)128 << 20)
/* Maximum length; the kernel's own limit is 512. */
#define MAX_NAME 4096

DEFINE_CLEANUP(struct kernel_table *, kernel_table_free)

/* Parses "ffffffff81000000 T _text" or "ffffffffc0000000 t name\t[module]", terminated in place. */
static void parse_line(struct kernel_table *t, char *line, char *end)
{
	const char *at = line;
	struct kernel_table_row row = {0};
	char *name, *name_end;

	if (!text_scan_hex(&at, end, &row.start) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return;
	row.is_code = at[1] && strchr("tTwWi", at[1]);
	name = line + (at + 3 - line);
	name_end = memchr(name, '\t', (size_t)(end - name));
	row.has_module = name_end != NULL;
	if (!name_end)
		name_end = end;
	*name_end = *end = '\0';
	if (!*name || name_end - name > MAX_NAME)
		return;
	row.name = (uint32_t)(name - t->text.text);
	vec_push(&t->rows, row);
}

static void parse(struct kernel_table *t)
{
	char *end = t->text.text + t->text.size;

	for (char *line = t->text.text; line < end;) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		/* The text may end in the middle of a name. */
		if (!line_end)
			break;
		parse_line(t, line, line_end);
		line = line_end + 1;
	}
}

int kallsyms_read(struct kernel_table **out, int fd, struct error *err)
{
	_cleanup_(kernel_table_free) struct kernel_table *t = kernel_table_new();
	struct strbuf *text = &t->text;

	t->is_list = true;
	/* The kernel's list reports no size before it is read; it has 5 to 10 MB. */
	text->capacity = (size_t)4 << 20;
	text->text = xmalloc(text->capacity);
	while (text->size < MAX_TEXT) {
		ssize_t n;

		if (text->size + 1 == text->capacity)
			text->text = xrealloc(text->text, text->capacity *= 2);
		n = pread(fd, text->text + text->size, text->capacity - text->size - 1,
			  (off_t)text->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, -errno, "cannot read kernel symbols");
		if (n == 0)
			break;
		text->size += (size_t)n;
	}
	text->text[text->size] = '\0';
	parse(t);
	kernel_table_seal(t);
	if (!t->rows.count || vec_last(&t->rows).start == 0)
		return error_text(err, -ENOENT, "the kernel hides symbol addresses");
	*out = steal(t);
	return 0;
}

struct kernel_table *kernel_table_new(void)
{
	return xcalloc(1, sizeof(struct kernel_table));
}

void kernel_table_free(struct kernel_table *t)
{
	if (!t)
		return;
	vec_release(&t->rows);
	strbuf_release(&t->text);
	free(t);
}

void kernel_table_add(struct kernel_table *t, uint64_t start, uint64_t size, const char *name,
		      size_t name_size, const char *module)
{
	struct kernel_table_row row = {
		.start = start,
		.name = (uint32_t)t->text.size,
		.size = size < KERNEL_FUNC_SIZE_MAX ? (uint32_t)size : 0,
		.is_code = true,
		.has_module = module != NULL,
	};

	strbuf_add(&t->text, name, name_size);
	strbuf_addch(&t->text, '\0');
	if (module)
		strbuf_add(&t->text, module, strlen(module) + 1);
	vec_push(&t->rows, row);
}

/* True for names of positions other than functions, and of functions with a better known name. */
static bool is_second_choice(const char *name)
{
	return text_starts_with(name, "__pfx_") || text_starts_with(name, "__ia32_") ||
	       text_ends_with(name, "_start") || text_ends_with(name, "_begin") ||
	       text_ends_with(name, "_end");
}

/*
 * Compares how well two symbols of one address name it; negative: x is better. Among equals the
 * first one listed wins, as in the kernel's own lookup, so that both choose the same name.
 */
static int compare_worth(const struct kernel_table *t, const struct kernel_table_row *x,
			 const struct kernel_table_row *y)
{
	const char *x_name = t->text.text + x->name, *y_name = t->text.text + y->name;
	size_t x_size = strspn(x_name, "_"), y_size = strspn(y_name, "_");

	if (x->is_code != y->is_code)
		return x->is_code ? -1 : 1;
	if (is_second_choice(x_name) != is_second_choice(y_name))
		return is_second_choice(y_name) ? -1 : 1;
	return x_size < y_size ? -1 : x_size > y_size;
}

ORDER(compare, struct kernel_table_row, COMPARE(a->start, b->start) ?: COMPARE(a->name, b->name))

/*
 * The kernel lists its own symbols in order; only modules and everything after them are unsorted.
 */
static void sort(struct kernel_table *t)
{
	struct kernel_table_row *rows = t->rows.items, *lowest;
	size_t count = t->rows.count, sorted = 1;

	while (sorted < count && compare(&rows[sorted - 1], &rows[sorted]) < 0)
		sorted++;
	if (sorted == count)
		return;
	lowest = &rows[sorted];
	for (size_t i = sorted; i < count; i++) {
		if (compare(&rows[i], lowest) < 0)
			lowest = &rows[i];
	}
	while (sorted > 0 && compare(&rows[sorted - 1], lowest) > 0)
		sorted--;
	qsort(rows + sorted, count - sorted, sizeof(*rows), compare);
}

static void drop_aliases(struct kernel_table *t)
{
	struct kernel_table_row *rows = t->rows.items;
	size_t kept = 0;

	for (size_t i = 0; i < t->rows.count; i++) {
		if (!kept || rows[kept - 1].start != rows[i].start)
			rows[kept++] = rows[i];
		else if (compare_worth(t, &rows[i], &rows[kept - 1]) < 0)
			rows[kept - 1] = rows[i];
	}
	t->rows.count = kept;
}

/* Sets the ends of functions. A data symbol ends the preceding function, too. */
static void find_ends(struct kernel_table *t)
{
	struct kernel_table_row *rows = t->rows.items;

	for (size_t i = 0; i + 1 < t->rows.count; i++) {
		uint64_t gap = rows[i + 1].start - rows[i].start;

		if (gap < KERNEL_FUNC_SIZE_MAX && (!rows[i].size || gap < rows[i].size))
			rows[i].size = (uint32_t)gap;
	}
}

void kernel_table_seal(struct kernel_table *t)
{
	if (!t->rows.count)
		return;
	sort(t);
	drop_aliases(t);
	find_ends(t);
}

static const char *module_of(const struct kernel_table *t, const struct kernel_table_row *row)
{
	const char *name = t->text.text + row->name;

	return row->has_module ? name + strlen(name) + 1 : NULL;
}

bool kernel_table_find(const struct kernel_table *t, uint64_t addr, struct kernel_symbol *symbol)
{
	const struct kernel_table_row *rows = t->rows.items, *row;
	size_t low = count_front(rows, t->rows.count, it, it->start <= addr);

	if (!low)
		return false;
	row = &rows[low - 1];
	if (!row->is_code || addr - row->start >= (row->size ? row->size : KERNEL_FUNC_SIZE_MAX))
		return false;
	*symbol = (struct kernel_symbol){
		.start = row->start,
		.size = row->size,
		.name = t->text.text + row->name,
		.module = module_of(t, row),
	};
	return true;
}

/*
 * Returns the address of the first code symbol of a module, such as "[ext4]"; UINT64_MAX if there
 * is none.
 */
static uint64_t kernel_table_module_start(const struct kernel_table *t, const char *module)
{
	vec_for_each(&t->rows, const struct kernel_table_row *, row) {
		const char *name = row->is_code ? module_of(t, row) : NULL;

		if (name && strcmp(name, module) == 0)
			return row->start;
	}
	return UINT64_MAX;
}

/* Names the kernel's code by its recorded name, or else by the table. */

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

/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/kallsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "symbolize/symbolizer.h"

/* Ten times what kernels with everything built in have. */
#define MAX_TEXT ((size_t)128 << 20)
/* The kernel's own limit is 512. */
#define MAX_NAME 4096
/* No function is that large: what lies further off belongs to code that has no symbol. */
#define MAX_FUNC_SIZE ((uint64_t)1 << 20)

struct row {
	uint64_t addr;
	uint32_t name; /* in text */
	char type;
	bool has_module; /* which stands behind the name's end */
};

struct kallsyms {
	char *text;
	VEC(struct row) rows; /* by address, one each */
};

DEFINE_CLEANUP(struct kallsyms *, kallsyms_free)

/* Names of places and not of functions, or of one that has a better known name. */
static bool is_second_choice(const char *name)
{
	return text_starts_with(name, "__pfx_") || text_starts_with(name, "__ia32_") ||
	       text_ends_with(name, "_start") || text_ends_with(name, "_begin") ||
	       text_ends_with(name, "_end");
}

/* Data symbols only end the function in front of them. */
static bool is_code(const struct row *row)
{
	return row->type && strchr("tTwWi", row->type);
}

/*
 * Which of two symbols of one place names it better? Negative: x. Among equals it is the one that
 * is listed first, as in the kernel's own search: a place has one name, whoever looks it up.
 */
static int compare_worth(const struct kallsyms *k, const struct row *x, const struct row *y)
{
	const char *x_name = k->text + x->name, *y_name = k->text + y->name;
	size_t x_size = strspn(x_name, "_"), y_size = strspn(y_name, "_");

	if (is_code(x) != is_code(y))
		return is_code(x) ? -1 : 1;
	if (is_second_choice(x_name) != is_second_choice(y_name))
		return is_second_choice(y_name) ? -1 : 1;
	return x_size < y_size ? -1 : x_size > y_size;
}

/* "ffffffff81000000 T _text" or "ffffffffc0000000 t name\t[module]", terminated in place. */
static void parse_line(struct kallsyms *k, char *line, char *end)
{
	const char *at = line;
	struct row row = {0};
	char *name, *name_end;

	if (!text_scan_hex(&at, end, &row.addr) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return;
	row.type = at[1];
	name = line + (at + 3 - line);
	name_end = memchr(name, '\t', (size_t)(end - name));
	row.has_module = name_end;
	if (!name_end)
		name_end = end;
	*name_end = *end = '\0';
	if (!*name || name_end - name > MAX_NAME)
		return;
	row.name = (uint32_t)(name - k->text);
	vec_push(&k->rows, row);
}

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* The kernel lists its own symbols in order; only modules and what comes behind are mixed up. */
static void sort(struct kallsyms *k)
{
	struct row *rows = k->rows.items, *lowest;
	size_t count = k->rows.count, sorted = 1;

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

static void drop_aliases(struct kallsyms *k)
{
	struct row *rows = k->rows.items;
	size_t kept = 0;

	for (size_t i = 0; i < k->rows.count; i++) {
		if (!kept || rows[kept - 1].addr != rows[i].addr)
			rows[kept++] = rows[i];
		else if (compare_worth(k, &rows[i], &rows[kept - 1]) < 0)
			rows[kept - 1] = rows[i];
	}
	k->rows.count = kept;
}

int kallsyms_parse(struct kallsyms **out, char *text, size_t size, struct error *err)
{
	_cleanup_(kallsyms_free) struct kallsyms *k = xcalloc(1, sizeof(*k));
	char *end = text + size;

	k->text = text;
	for (char *line = text; line < end;) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		/* What is cut off at the end of the text is no whole name. */
		if (!line_end)
			break;
		parse_line(k, line, line_end);
		line = line_end + 1;
	}
	if (k->rows.count) {
		sort(k);
		drop_aliases(k);
	}
	if (!k->rows.count || vec_last(&k->rows).addr == 0)
		return error_text(err, -ENOENT, "the kernel hides its symbols' addresses");
	*out = steal(k);
	return 0;
}

int kallsyms_read(struct kallsyms **out, int fd, struct error *err)
{
	/* The kernel's list, which has no size that could be asked for, is 5 to 10 MB. */
	size_t used = 0, capacity = (size_t)4 << 20;
	_cleanup_free_ char *text = xmalloc(capacity);

	while (used < MAX_TEXT) {
		ssize_t n;

		if (used == capacity)
			text = xrealloc(text, capacity *= 2);
		n = pread(fd, text + used, capacity - used, (off_t)used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, -errno, "read kernel symbols");
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return kallsyms_parse(out, steal(text), used, err);
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	vec_release(&k->rows);
	free(k->text);
	free(k);
}

bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *symbol)
{
	const struct row *rows = k->rows.items, *row;
	size_t low = count_front(rows, k->rows.count, it, it->addr <= addr);

	if (!low)
		return false;
	row = &rows[low - 1];
	if (!is_code(row) || addr - row->addr >= MAX_FUNC_SIZE)
		return false;
	*symbol = (struct kernel_symbol){.start = row->addr, .name = k->text + row->name};
	if (row->has_module)
		symbol->module = symbol->name + strlen(symbol->name) + 1;
	if (low < k->rows.count && row[1].addr - row->addr < MAX_FUNC_SIZE)
		symbol->size = row[1].addr - row->addr;
	return true;
}

/* "bpf_prog_" and the tag: what is told apart by more is one program's code. */
#define CODE_NAME_SIZE 25

struct kernel_namer {
	struct symbolizer base;
	const struct kallsyms *table; /* NULL: only what the module knows itself is known */
	const struct module *module; /* NULL: none */
	uint64_t load_addr;
	/* Of code that the kernel made: what it was when it was there. */
	const char *own_name;
	const char *module_name; /* "[ext4]", of a loaded module alone */
};

static int name_job_open(struct symbolizer **out, const struct symbolizer_input *input,
			 struct error *err)
{
	const struct module *module = input->module;
	bool has_own_name = module && module->kind == PROFILE_MODULE_KERNEL_DYNAMIC && module->base;
	struct kernel_namer *n;

	if (!input->kallsyms && !has_own_name && !(module && module->symbols.count))
		return error_text(err, -ENOENT, "no kernel symbols");
	if (module && module->kind == PROFILE_MODULE_KERNEL_MODULE && !module->base)
		return error_text(err, -ENOENT, "not loaded");
	n = xcalloc(1, sizeof(*n));
	n->base.ops = &symbolizer_kallsyms;
	n->table = input->kallsyms;
	n->module = module;
	n->load_addr = module ? module->base : 0;
	n->own_name = has_own_name ? input->path : NULL;
	if (module && module->kind == PROFILE_MODULE_KERNEL_MODULE)
		n->module_name = input->path;
	*out = &n->base;
	return 0;
}

/* As it was called when it occurred. */
static bool find_own_symbol(const struct kernel_namer *n, uint64_t rva,
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

/* The list may have something else there by now. */
static bool find_symbol(const struct kernel_namer *n, uint64_t rva, struct kernel_symbol *symbol)
{
	bool is_listed = n->table && kallsyms_find(n->table, n->load_addr + rva, symbol);

	/* A symbol in front of the module is another one's, as may be one where it ended. */
	if (is_listed && symbol->start < n->load_addr)
		is_listed = false;
	if (is_listed && n->module_name &&
	    (!symbol->module || strcmp(symbol->module, n->module_name) != 0))
		is_listed = false;
	if (!n->own_name)
		return is_listed;
	if (!is_listed || strncmp(symbol->name, n->own_name, CODE_NAME_SIZE) != 0)
		*symbol = (struct kernel_symbol){.start = n->load_addr, .name = n->own_name};
	return true;
}

static void name_job_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			    struct answer *answers)
{
	const struct kernel_namer *n = (const struct kernel_namer *)base;

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

static void name_job_free(struct symbolizer *base)
{
	free(base);
}

const struct symbolizer_ops symbolizer_kallsyms = {
	.name = "kallsyms",
	.open = name_job_open,
	.lookup = name_job_lookup,
	.free = name_job_free,
};

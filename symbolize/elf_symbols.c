/* SPDX-License-Identifier: MIT */
/* Names from the symbol tables of a file and of its separate debug file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/binary/binary.h"
#include "symbolize/arena.h"
#include "symbolize/debug_file.h"
#include "symbolize/segments.h"
#include "symbolize/symbolizer.h"

/* No version is looked for behind this. */
#define MAX_NAME 16384
/* As much of a name as counts when two symbols of one place are compared. */
#define COMPARED_NAME 256

struct entry {
	uint64_t start, size;
	const char *name;
};

struct symtab {
	struct symbolizer base;
	struct binary *binary; /* NULL: the file is not at hand */
	struct debug_file debug;
	VEC(struct entry) entries; /* by start, one each */
	struct segments segments; /* of entries */
	struct arena names;
};

static void symtab_free(struct symbolizer *base);

static void free_symtab(struct symtab *t)
{
	symtab_free(&t->base);
}
DEFINE_CLEANUP(struct symtab *, free_symtab)

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_") < COMPARED_NAME ? strspn(name, "_") : COMPARED_NAME;
}

/*
 * Which of two symbols of one place names it better? A real function of known size; a public name;
 * the one without decoration (malloc, not __libc_malloc); the one that says more.
 */
static int compare_worth(const struct binary_symbol *x, const struct binary_symbol *y)
{
	size_t x_plain, y_plain, x_size, y_size;

	if (x->is_func != y->is_func)
		return x->is_func ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if (x->is_global != y->is_global)
		return x->is_global ? -1 : 1;
	x_plain = leading_underscores(x->name);
	y_plain = leading_underscores(y->name);
	if (x_plain != y_plain)
		return x_plain < y_plain ? -1 : 1;
	x_size = strnlen(x->name, COMPARED_NAME);
	y_size = strnlen(y->name, COMPARED_NAME);
	if (x_size != y_size)
		return x_size > y_size ? -1 : 1;
	return strncmp(x->name, y->name, COMPARED_NAME);
}

static int compare(const void *a, const void *b)
{
	const struct binary_symbol *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return compare_worth(x, y);
}

/* The symbols of one file, as RVAs; what lies before the first segment has none. */
static void collect(const struct binary *b, struct binary_symbols *symbols)
{
	uint64_t first_vaddr = binary_first_vaddr(b);
	size_t first = symbols->rows.count, kept = first;

	binary_add_symbols(b, symbols);
	for (size_t i = first; i < symbols->rows.count; i++) {
		struct binary_symbol symbol = symbols->rows.items[i];

		if (symbol.vaddr < first_vaddr)
			continue;
		symbol.vaddr -= first_vaddr;
		symbol.limit -= first_vaddr;
		symbols->rows.items[kept++] = symbol;
	}
	symbols->rows.count = kept;
}

/* Leaves the best symbol of each place, which takes a size from another one if it has none. */
static void drop_aliases(struct binary_symbols *symbols)
{
	struct binary_symbol *rows = symbols->rows.items;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->rows.count; i++) {
		if (!kept || rows[kept - 1].vaddr != rows[i].vaddr)
			rows[kept++] = rows[i];
		else if (!rows[kept - 1].size)
			rows[kept - 1].size = rows[i].size;
	}
	symbols->rows.count = kept;
}

/*
 * Labels without a size inside of a function are no functions; others reach to what comes next.
 * Symbols are sorted and without aliases.
 */
static void settle_sizes(struct binary_symbols *symbols)
{
	struct binary_symbol *rows = symbols->rows.items;
	uint64_t covered = 0;
	size_t kept = 0;

	for (size_t i = 0; i < symbols->rows.count; i++) {
		uint64_t end;

		if (!rows[i].size && rows[i].vaddr < covered)
			continue;
		if (rows[i].size && __builtin_add_overflow(rows[i].vaddr, rows[i].size, &end))
			rows[i].size = UINT64_MAX - rows[i].vaddr;
		if (rows[i].size && rows[i].vaddr + rows[i].size > covered)
			covered = rows[i].vaddr + rows[i].size;
		rows[kept++] = rows[i];
	}
	symbols->rows.count = kept;
	for (size_t i = 0; i < kept; i++) {
		uint64_t end = rows[i].limit;

		if (rows[i].size)
			continue;
		if (i + 1 < kept && rows[i + 1].vaddr < end)
			end = rows[i + 1].vaddr;
		rows[i].size = end - rows[i].vaddr;
	}
}

static void build(struct symtab *t, const struct binary_symbols *symbols)
{
	struct intervals intervals = {0};

	vec_reserve(&t->entries, symbols->rows.count);
	vec_reserve(&intervals.rows, symbols->rows.count);
	vec_for_each(&symbols->rows, const struct binary_symbol *, it) {
		uint32_t id = (uint32_t)t->entries.count;

		vec_push(&t->entries, (struct entry){it->vaddr, it->size, it->name});
		vec_push(&intervals.rows, (struct interval){
						  .start = it->vaddr,
						  .end = it->vaddr + it->size,
						  .id = id,
					  });
	}
	segments_build(&t->segments, &intervals);
	vec_release(&intervals.rows);
}

static int symtab_open(struct symbolizer **out, const struct symbolizer_input *input,
		       struct error *err)
{
	_cleanup_(free_symtab) struct symtab *t = xcalloc(1, sizeof(*t));
	struct binary_symbols symbols = {0};
	int ret = -ENOENT;

	t->base.ops = &symbolizer_elf;
	t->debug.fd = -1;
	if (input->fd >= 0)
		ret = binary_open(&t->binary, input->fd, err);
	if (t->binary)
		collect(t->binary, &symbols);
	/* A file that was not stripped repeats nothing that its debug file does not have. */
	if (!(t->binary && binary_has_section(t->binary, ".symtab")) &&
	    debug_file_open(&t->debug, input, t->binary ? NULL : err) == 0)
		collect(t->debug.binary, &symbols);
	if (!symbols.rows.count) {
		vec_release(&symbols.rows);
		return ret && ret != -ENOENT ? ret : error_text(err, -ENOENT, "no symbols");
	}
	qsort(symbols.rows.items, symbols.rows.count, sizeof(*symbols.rows.items), compare);
	drop_aliases(&symbols);
	settle_sizes(&symbols);
	build(t, &symbols);
	vec_release(&symbols.rows);
	*out = &steal(t)->base;
	return 0;
}

/* "memcpy@@GLIBC_2.14" is known as memcpy. */
static const char *plain_name(struct symtab *t, const char *name)
{
	const char *version = memchr(name, '@', strnlen(name, MAX_NAME));

	if (!version || version == name)
		return name;
	return arena_strndup(&t->names, name, (size_t)(version - name));
}

static void symtab_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			  struct answer *answers)
{
	struct symtab *t = (struct symtab *)base;
	uint32_t last = NO_SEGMENT;
	const char *name = NULL;

	for (size_t i = 0; i < count; i++) {
		uint32_t id = segments_find(&t->segments, rvas[i]);

		if (id == NO_SEGMENT || answers[i].func)
			continue;
		if (id != last)
			name = plain_name(t, t->entries.items[id].name);
		last = id;
		answers[i].func = name;
		answers[i].func_start = t->entries.items[id].start;
		answers[i].func_size = t->entries.items[id].size;
	}
}

static void symtab_free(struct symbolizer *base)
{
	struct symtab *t = (struct symtab *)base;

	segments_release(&t->segments);
	vec_release(&t->entries);
	arena_release(&t->names);
	debug_file_close(&t->debug);
	binary_free(t->binary);
	free(t);
}

const struct symbolizer_ops symbolizer_elf = {
	.name = "elf",
	.open = symtab_open,
	.lookup = symtab_lookup,
	.free = symtab_free,
};

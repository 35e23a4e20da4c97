/* SPDX-License-Identifier: MIT */
/* Names from the symbol tables of a file and of its separate debug file, and of linkers' stubs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/radix.h"
#include "lib/base/strbuf.h"
#include "lib/binary/binary.h"
#include "symbolize/arena.h"
#include "symbolize/module_files.h"
#include "symbolize/segments.h"
#include "symbolize/symbolizer.h"

/* No version is looked for behind this. */
#define MAX_NAME 16384
/* As much of a name as counts when two symbols of one place are compared. */
#define COMPARED_NAME 256

struct symtab {
	struct symbolizer base;
	struct module_files *files;
	struct binary *binary; /* NULL: the file is not at hand */
	struct binary *separate; /* with what was stripped from it, or NULL */
	struct binary_symbols symbols; /* as RVAs, in order, one of each place */
	struct segments segments; /* of symbols */
	struct binary_stubs stubs; /* looked for when an address needs them */
	bool has_stubs;
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
	size_t count = 0;

	while (count < COMPARED_NAME && name[count] == '_')
		count++;
	return count;
}

/*
 * Which of two symbols of one place names it better? A real function of known size; a public name;
 * the one without decoration (malloc, not __libc_malloc); of glibc's functions, where the names of
 * standards are weak but for those of the oldest ones, the strong one (lgamma, not gamma); the
 * shorter one, as newer names append to older ones (open64, exp10f32x).
 */
static int compare_worth(const struct binary_symbol *x, const struct binary_symbol *y)
{
	size_t x_plain, y_plain, x_size, y_size;

	if (x->is_func != y->is_func)
		return x->is_func ? -1 : 1;
	if (!x->size != !y->size)
		return x->size ? -1 : 1;
	if ((x->binding == BINARY_LOCAL) != (y->binding == BINARY_LOCAL))
		return x->binding != BINARY_LOCAL ? -1 : 1;
	x_plain = leading_underscores(x->name);
	y_plain = leading_underscores(y->name);
	if (x_plain != y_plain)
		return x_plain < y_plain ? -1 : 1;
	if (x->binding != y->binding)
		return x->binding == BINARY_GLOBAL ? -1 : 1;
	x_size = strnlen(x->name, COMPARED_NAME);
	y_size = strnlen(y->name, COMPARED_NAME);
	if (x_size != y_size)
		return x_size < y_size ? -1 : 1;
	return strncmp(x->name, y->name, COMPARED_NAME);
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

/* The best symbol of a place, which takes a size from the next best that has one. */
static struct binary_symbol choose(const struct binary_symbols *symbols,
				   const struct radix_row *order, size_t count)
{
	const struct binary_symbol *rows = symbols->rows.items, *best = &rows[order[0].value];
	const struct binary_symbol *sized = best->size ? best : NULL;
	struct binary_symbol chosen;

	for (size_t i = 1; i < count; i++) {
		const struct binary_symbol *other = &rows[order[i].value];

		if (compare_worth(other, best) < 0)
			best = other;
		if (other->size && (!sized || compare_worth(other, sized) < 0))
			sized = other;
	}
	chosen = *best;
	if (!chosen.size && sized)
		chosen.size = sized->size;
	return chosen;
}

/* In order, one of each place. */
static void sort(struct binary_symbols *symbols)
{
	struct binary_symbols sorted = {0};
	size_t count = symbols->rows.count;
	_cleanup_free_ struct radix_row *order = xmalloc((count + 1) * sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = (struct radix_row){symbols->rows.items[i].vaddr, (uint32_t)i};
	radix_sort(order, count);
	vec_reserve(&sorted.rows, count);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && order[next].key == order[i].key;)
			next++;
		vec_push(&sorted.rows, choose(symbols, order + i, next - i));
	}
	vec_release(&symbols->rows);
	*symbols = sorted;
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
		rows[i].is_reach_guessed = true;
		if (i + 1 < kept && rows[i + 1].vaddr < end)
			end = rows[i + 1].vaddr;
		rows[i].size = end - rows[i].vaddr;
	}
}

static void build_segments(struct symtab *t)
{
	struct segments_builder builder = {.out = &t->segments};

	/* Most functions are followed by some bytes of nothing. */
	vec_reserve(&t->segments.rows, 2 * t->symbols.rows.count);
	for (size_t i = 0; i < t->symbols.rows.count; i++) {
		const struct binary_symbol *symbol = &t->symbols.rows.items[i];

		segments_builder_add(&builder, &(struct interval){
						       .start = symbol->vaddr,
						       .end = symbol->vaddr + symbol->size,
						       .id = (uint32_t)i,
					       });
	}
	segments_builder_finish(&builder);
}

/* True where there are any. */
static bool find_stubs(struct symtab *t)
{
	if (!t->has_stubs && t->binary)
		binary_find_stubs(t->binary, &t->stubs);
	t->has_stubs = true;
	return t->stubs.rows.count;
}

static int symtab_open(struct symbolizer **out, const struct symbolizer_input *input,
		       struct error *err)
{
	_cleanup_(free_symtab) struct symtab *t = xcalloc(1, sizeof(*t));
	int ret = -ENOENT, separate;

	t->base.ops = &symbolizer_elf;
	t->files = input->files ? module_files_ref(input->files) : module_files_new(input);
	if (input->fd >= 0)
		ret = binary_open(&t->binary, input->fd, err);
	if (t->binary)
		collect(t->binary, &t->symbols);
	separate = module_files_symbols(t->files);
	if (separate >= 0 && binary_open(&t->separate, separate, NULL) == 0)
		collect(t->separate, &t->symbols);
	/* Static programs have stubs, too, for what is chosen at run time. */
	if (!t->symbols.rows.count && !find_stubs(t))
		return ret && ret != -ENOENT ? ret : error_text(err, -ENOENT, "no symbols");
	sort(&t->symbols);
	settle_sizes(&t->symbols);
	build_segments(t);
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

static const struct binary_stub *find_stub(struct symtab *t, uint64_t vaddr)
{
	size_t low = 0, high = find_stubs(t) ? t->stubs.rows.count : 0;
	const struct binary_stub *rows = t->stubs.rows.items, *stub;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].vaddr <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	stub = low ? &rows[low - 1] : NULL;
	return stub && vaddr - stub->vaddr < stub->size ? stub : NULL;
}

/* What a stub leads to; a function that chooses another one has the name of what it chooses. */
static const char *stub_target(struct symtab *t, const struct binary_stub *stub,
			       uint64_t first_vaddr)
{
	uint64_t rva = stub->target - first_vaddr;
	uint32_t id;

	if (stub->name)
		return plain_name(t, stub->name);
	id = segments_find(&t->segments, rva);
	if (id == NO_SEGMENT || t->symbols.rows.items[id].vaddr != rva)
		return NULL;
	return plain_name(t, t->symbols.rows.items[id].name);
}

static void name_stub(struct symtab *t, uint64_t rva, struct answer *answer)
{
	uint64_t first_vaddr = t->binary ? binary_first_vaddr(t->binary) : 0;
	const struct binary_stub *stub = find_stub(t, rva + first_vaddr);
	struct strbuf text __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	const char *target;

	if (!stub || stub->vaddr < first_vaddr)
		return;
	target = stub_target(t, stub, first_vaddr);
	if (target)
		strbuf_add(&text, target, strnlen(target, MAX_NAME));
	else
		strbuf_addf(&text, "fun_%" PRIx64, stub->target - first_vaddr);
	strbuf_adds(&text, "@plt");
	answer->func = arena_strndup(&t->names, strbuf_text(&text), text.size);
	answer->func_start = stub->vaddr - first_vaddr;
	answer->func_size = stub->size;
	answer->is_made_up = !target;
}

static void name_symbol(struct symtab *t, uint32_t id, struct answer *answer)
{
	struct binary_symbol *symbol = &t->symbols.rows.items[id];

	if (!symbol->is_plain)
		symbol->name = plain_name(t, symbol->name);
	symbol->is_plain = true;
	answer->func = symbol->name;
	answer->func_start = symbol->vaddr;
	answer->func_size = symbol->size;
	answer->is_reach_guessed = symbol->is_reach_guessed;
}

static bool is_in(const struct answer *answer, uint64_t rva)
{
	return answer->func && rva - answer->func_start < answer->func_size;
}

static void symtab_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			  struct answer *answers)
{
	struct symtab *t = (struct symtab *)base;
	struct answer stub = {0};

	for (size_t i = 0; i < count; i++) {
		uint32_t id = segments_find(&t->segments, rvas[i]);

		if (answers[i].func)
			continue;
		if (id != NO_SEGMENT) {
			name_symbol(t, id, &answers[i]);
			continue;
		}
		/* Addresses ascend: a stub that has several is spelled out once. */
		if (!is_in(&stub, rvas[i])) {
			stub.func = NULL;
			name_stub(t, rvas[i], &stub);
		}
		if (stub.func) {
			answers[i].func = stub.func;
			answers[i].func_start = stub.func_start;
			answers[i].func_size = stub.func_size;
			answers[i].is_made_up = stub.is_made_up;
		}
	}
}

static void symtab_free(struct symbolizer *base)
{
	struct symtab *t = (struct symtab *)base;

	segments_release(&t->segments);
	vec_release(&t->symbols.rows);
	vec_release(&t->stubs.rows);
	arena_release(&t->names);
	binary_free(t->separate);
	binary_free(t->binary);
	module_files_unref(t->files);
	free(t);
}

const struct symbolizer_ops symbolizer_elf = {
	.name = "elf",
	.open = symtab_open,
	.lookup = symtab_lookup,
	.free = symtab_free,
};

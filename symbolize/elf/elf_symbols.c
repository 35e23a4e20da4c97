/* SPDX-License-Identifier: MIT */
#include "symbolize/answers.h"
#include "symbolize/elf/symbol_table.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

/*
 * Names from the symbol tables of a file and its separate debug file, and names of linkers' stubs.
 */

/* Maximum length of names in which a version is searched. */
#define MAX_NAME 16384

struct symtab {
	struct symbolizer base;
	struct module_files *files;
	struct symbol_table *table; /* owned by the module files */
	const struct binary_symbol *last; /* last symbol returned; NULL: none yet */
	const char *last_name;
	uint64_t last_size; /* of its code */
	struct arena names;
};

static int symtab_open(struct symbolizer **out, const struct symbolizer_input *input,
		       struct error *err)
{
	struct module_files *files = input->files ? module_files_ref(input->files)
						  : module_files_new(input);
	struct error local = {0};
	struct symbol_table *table = module_files_symbol_table(files, input->rvas, input->rva_count,
							       &local);
	struct symtab *t;

	if (!table) {
		module_files_unref(files);
		return error_text(err, local.code, "%s", local.text);
	}
	t = xcalloc(1, sizeof(*t));
	t->base.ops = &symbolizer_elf;
	t->files = files;
	t->table = table;
	*out = &t->base;
	return 0;
}

static bool is_version(const char *text)
{
	static const char others[] = "_.-+";

	text += strspn(text, "@");
	while (isalnum((unsigned char)*text) || (*text && strchr(others, *text)))
		text++;
	return !*text;
}

/*
 * Strips the version: "memcpy@@GLIBC_2.14" → "memcpy". Names in Crystal may contain an "@":
 * "*List(Int32)@Iterator(T)#next:Int32".
 */
static const char *plain_name(struct symtab *t, const char *name)
{
	const char *version = memchr(name, '@', strnlen(name, MAX_NAME));

	if (!version || version == name || !is_version(version))
		return name;
	return arena_strndup(&t->names, name, (size_t)(version - name));
}

/* Returns the name of a stub's target. An ifunc resolver has the name of its function. */
static const char *stub_target(struct symtab *t, const struct binary_stub *stub,
			       uint64_t first_vaddr)
{
	uint64_t rva = stub->target - first_vaddr;
	const struct binary_symbol *symbol;

	if (stub->name)
		return plain_name(t, stub->name);
	symbol = symbol_table_find(t->table, rva);
	return symbol && symbol->vaddr == rva ? plain_name(t, symbol->name) : NULL;
}

static void name_stub(struct symtab *t, uint64_t rva, struct answer *answer)
{
	uint64_t first_vaddr = symbol_table_first_vaddr(t->table);
	const struct binary_stub *stub = symbol_table_find_stub(t->table, rva);
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
	answer->is_synthetic = !target;
	answer->is_stub = true;
}

static void name_symbol(struct symtab *t, const struct binary_symbol *symbol, uint64_t rva,
			struct answer *answer)
{
	/* Addresses ascend, so those of one symbol are mostly adjacent. */
	if (symbol != t->last) {
		t->last_name = plain_name(t, symbol->name);
		t->last_size = symbol_table_code_size(t->table, symbol);
	}
	t->last = symbol;
	answer->func = t->last_name;
	answer->func_start = symbol->vaddr;
	answer->func_size = symbol->size;
	answer->is_reach_guessed = symbol->is_reach_guessed;
	answer->is_beyond_end = rva >= symbol->vaddr && rva - symbol->vaddr >= t->last_size;
}

static bool is_in(const struct answer *answer, uint64_t rva)
{
	return answer->func && rva - answer->func_start < answer->func_size;
}

/* Finds the symbol around the address, or the function to whose first byte a stack returns. */
static const struct binary_symbol *find_symbol(struct symtab *t, uint64_t rva)
{
	const struct binary_symbol *symbol = symbol_table_find(t->table, rva);

	if (symbol || !symbol_table_is_before_function(rva))
		return symbol;
	symbol = symbol_table_find(t->table, rva + 1);
	return symbol && symbol->is_func && symbol->vaddr == rva + 1 ? symbol : NULL;
}

static void symtab_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			  struct answer *answers)
{
	struct symtab *t = (struct symtab *)base;
	struct answer stub = {0};

	for (size_t i = 0; i < count; i++) {
		const struct binary_symbol *symbol = find_symbol(t, rvas[i]);

		if (answers[i].func)
			continue;
		if (symbol) {
			name_symbol(t, symbol, rvas[i], &answers[i]);
			continue;
		}
		/* Addresses ascend: a stub with several is named once. */
		if (!is_in(&stub, rvas[i])) {
			stub.func = NULL;
			name_stub(t, rvas[i], &stub);
		}
		if (stub.func)
			answers[i] = stub;
	}
}

static void symtab_free(struct symbolizer *base)
{
	struct symtab *t = (struct symtab *)base;

	arena_release(&t->names);
	module_files_unref(t->files);
	free(t);
}

const struct symbolizer_ops symbolizer_elf = {
	.name = "elf",
	.reads_symbols = true,
	.open = symtab_open,
	.lookup = symtab_lookup,
	.free = symtab_free,
};

/*
 * Gives functions known only from CFI the name fun_<hex>. A program's entry point gets the name
 * that linkers expect.
 */

struct fde_names {
	struct symbolizer base;
	struct module_files *files;
	struct fde_range last; /* last range found; size 0: none yet */
	const char *last_name;
	struct arena texts;
};

static int fde_open(struct symbolizer **out, const struct symbolizer_input *input,
		    struct error *err)
{
	struct fde_names *n;

	if (input->fd < 0)
		return error_text(err, -ENOENT, "no file");
	n = xcalloc(1, sizeof(*n));
	n->base.ops = &symbolizer_fde;
	n->files = input->files ? module_files_ref(input->files) : module_files_new(input);
	*out = &n->base;
	return 0;
}

/* A guessed symbol size does no harm if DWARF has the function. */
static bool needs_name(const struct answer *answer)
{
	if (!answer->func)
		return true;
	return answer->is_reach_guessed && !(answer->depth && answer->chain[0].func);
}

static void name(struct fde_names *n, struct answer *answer)
{
	char text[32] = "_start";

	/* The symbol belongs to the function itself. */
	if (answer->func && answer->func_start >= n->last.rva) {
		answer->func_size = n->last.rva + n->last.size - answer->func_start;
		answer->is_reach_guessed = false;
		return;
	}
	if (!n->last_name) {
		if (!n->last.is_entry)
			snprintf(text, sizeof(text), "fun_%" PRIx64, n->last.rva);
		n->last_name = arena_strndup(&n->texts, text, strlen(text));
	}
	answer->func = n->last_name;
	answer->func_start = n->last.rva;
	answer->func_size = n->last.size;
	answer->is_synthetic = !n->last.is_entry;
	answer->is_reach_guessed = false;
}

/*
 * A symbol of unknown size does not reach beyond the end of its code, or the function that begins
 * after it.
 */
static void drop_far_symbol(struct answer *answer, uint64_t start)
{
	if (start <= answer->func_start && !answer->is_beyond_end)
		return;
	answer->func = NULL;
	answer->func_start = answer->func_size = 0;
	answer->is_reach_guessed = answer->is_beyond_end = false;
}

/*
 * Finds the function around the address. Stacks that makecontext() makes return to a function's
 * first byte: the address before it lies in padding.
 */
static bool find_function(struct shared_fdes *fdes, uint64_t rva, struct fde_range *range)
{
	struct fde_range next;

	if (shared_fdes_find(fdes, rva, range))
		return true;
	if (!shared_fdes_find(fdes, rva + 1, &next) || next.rva != rva + 1)
		return false;
	*range = next;
	return true;
}

static void fde_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
		       struct answer *answers)
{
	struct fde_names *n = (struct fde_names *)base;
	struct shared_fdes *fdes = module_files_fdes(n->files);

	for (size_t i = 0; i < count; i++) {
		if (!needs_name(&answers[i]))
			continue;
		if (rvas[i] - n->last.rva >= n->last.size) {
			n->last_name = NULL;
			if (!find_function(fdes, rvas[i], &n->last)) {
				drop_far_symbol(&answers[i], n->last.rva);
				continue;
			}
		}
		name(n, &answers[i]);
	}
}

static void fde_free(struct symbolizer *base)
{
	struct fde_names *n = (struct fde_names *)base;

	module_files_unref(n->files);
	arena_release(&n->texts);
	free(n);
}

const struct symbolizer_ops symbolizer_fde = {
	.name = "fde",
	.open = fde_open,
	.lookup = fde_lookup,
	.free = fde_free,
};

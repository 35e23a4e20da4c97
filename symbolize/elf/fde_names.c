/* SPDX-License-Identifier: MIT */
/*
 * Gives functions known only from CFI the name fun_<hex>. A program's entry point gets the name
 * that linkers expect.
 */
#include "symbolize/answers.h"
#include "symbolize/elf/symbol_table.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

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

/* SPDX-License-Identifier: MIT */
/*
 * Names, files, lines and inlined calls of Go programs without DWARF and symbol table, from the
 * table of functions that Go's runtime itself needs.
 */
#include "lib/code/unwind/go_file.h"
#include "symbolize/answers.h"
#include "symbolize/symbolizer.h"

/* Maximum nesting of inlined calls. */
#define MAX_DEPTH 64

struct go_names {
	struct symbolizer base;
	struct cfi_file file;
	struct go_file go;
	uint64_t first_vaddr; /* base of RVAs */
	uint64_t data; /* vaddr of the data; 0: unknown, so inlined calls are unknown, too */
	struct arena chains;
};

static void go_names_free(struct symbolizer *base)
{
	struct go_names *n = (struct go_names *)base;

	go_file_release(&n->go);
	cfi_file_release(&n->file);
	arena_release(&n->chains);
	free(n);
}

static int go_names_open(struct symbolizer **out, const struct symbolizer_input *input,
			 struct error *err)
{
	struct go_names *n;
	int ret;

	if (input->fd < 0)
		return error_text(err, -ENOENT, "no file");
	n = xcalloc(1, sizeof(*n));
	n->base.ops = &symbolizer_go;
	ret = cfi_file_open(&n->file, input->fd, err);
	if (ret == 0 && (!n->file.segments.count || !go_file_find(&n->go, &n->file)))
		ret = error_text(err, -ENOENT, "not a Go program");
	if (ret) {
		go_names_free(&n->base);
		return ret;
	}
	n->first_vaddr = n->file.segments.items[0].vaddr;
	n->data = go_file_data(&n->go);
	*out = &n->base;
	return 0;
}

/* Reads an inlined call of a function. False if unreadable. */
static bool read_call(const struct go_names *n, const struct pclntab_function *function,
		      int32_t number, struct pclntab_call *call)
{
	size_t size = pclntab_call_size(&n->go.table), done;
	struct file_range range = cfi_file_find(
		&n->file, n->data + function->call_tree + (uint64_t)(uint32_t)number * size);
	_cleanup_free_ uint8_t *data = NULL;

	if (range.size < size)
		return false;
	range.size = size;
	if (cfi_file_read(&n->file, &range, &data, &done, NULL) != 0 || done != size)
		return false;
	pclntab_call(&n->go.table, data, call);
	return true;
}

static struct location location_at(const struct go_names *n,
				   const struct pclntab_function *function, uint64_t offset)
{
	const struct pclntab *table = &n->go.table;
	int32_t line = pclntab_value_at(table, function->line, offset);

	return (struct location){
		.file = pclntab_file(table, function->unit,
				     pclntab_value_at(table, function->file, offset)),
		.line = line > 0 ? (uint32_t)line : 0,
	};
}

/* Stores the calls around an offset in the function, innermost first. Returns their number. */
static size_t find_chain(const struct go_names *n, const struct pclntab_function *function,
			 uint64_t offset, struct location chain[MAX_DEPTH])
{
	bool has_calls = n->data && function->inlined_calls && function->call_tree != UINT32_MAX;
	struct pclntab_call call;
	size_t depth = 0;

	while (depth < MAX_DEPTH - 1) {
		int32_t number = -1;

		chain[depth] = location_at(n, function, offset);
		if (has_calls)
			number = pclntab_value_at(&n->go.table, function->inlined_calls, offset);
		if (number < 0 || !read_call(n, function, number, &call))
			break;
		chain[depth].func = call.name;
		chain[depth++].start_line = call.start_line;
		offset = call.parent_pc;
	}
	chain[depth].func = function->name;
	chain[depth++].start_line = function->start_line;
	return depth;
}

static void set_answer(struct go_names *n, const struct pclntab_function *function, uint64_t offset,
		       struct answer *answer)
{
	struct location chain[MAX_DEPTH];
	size_t depth = find_chain(n, function, offset - function->start, chain);

	answer->func = function->name;
	answer->func_start = n->go.text + function->start - n->first_vaddr;
	answer->func_size = function->end - function->start;
	answer->chain = arena_alloc(&n->chains, depth * sizeof(*answer->chain));
	answer->depth = depth;
	for (size_t i = 0; i < depth; i++)
		answer->chain[i] = chain[depth - 1 - i];
}

static void go_names_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
			    struct answer *answers)
{
	struct go_names *n = (struct go_names *)base;
	struct pclntab_function function;

	for (size_t i = 0; i < count; i++) {
		uint64_t offset = rvas[i] + n->first_vaddr - n->go.text;

		if (!answers[i].func && !answers[i].depth &&
		    pclntab_find(&n->go.table, offset, &function))
			set_answer(n, &function, offset, &answers[i]);
	}
}

const struct symbolizer_ops symbolizer_go = {
	.name = "go",
	.open = go_names_open,
	.lookup = go_names_lookup,
	.free = go_names_free,
};

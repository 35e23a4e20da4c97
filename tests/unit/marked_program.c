/* SPDX-License-Identifier: MIT */
#include "tests/unit/marked_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

#define MAX_DEPTH 3

struct expected {
	const char *mark;
	size_t depth;
	struct location chain[MAX_DEPTH];
};

#define AT(function, path, number, start) \
	{ \
		.func = (function), .file = (path), .line = (number), .start_line = (start) \
	}

/* As in the sources. */
static const struct expected expectations[] = {
	{"mark_one_inner",
	 3,
	 {AT("one_outer", "one.c", 19, 16), AT("one_middle", "one.c", 12, 10),
	  AT("one_inner", "one.c", 7, 4)}},
	{"mark_one_outer", 1, {AT("one_outer", "one.c", 18, 16)}},
	{"mark_one_apart", 1, {AT("one_apart", "one.c", 27, 23)}},
	{"mark_two_inner", 2, {AT("two_outer", "two.c", 20, 15), AT("two_inner", "two.c", 10, 7)}},
	{"mark_two_outer", 1, {AT("two_outer", "two.c", 24, 15)}},
};

struct opened {
	struct module module;
	struct debug_search search;
	struct symbolizer_input input;
	char *path;
	int fd;
};

static void open_input(struct opened *o, const struct scratch *s, const struct marked *m)
{
	int fd = scratch_open(s, m->name);
	struct binary *b;

	*o = (struct opened){.fd = fd,
			     .module = {.kind = PROFILE_MODULE_FILE},
			     .search = {.dirs = m->dirs, .cache = m->cache, .fetcher = m->fetcher}};
	assert_int_equal(binary_open(&b, fd, NULL), 0);
	o->module.build_id_size = (uint8_t)binary_build_id(b, o->module.build_id);
	binary_free(b);
	if (m->is_kernel)
		o->module.kind = PROFILE_MODULE_KERNEL;
	if (m->kernel_module)
		o->module.kind = PROFILE_MODULE_KERNEL_MODULE;
	for (size_t i = 0; i < m->section_count; i++)
		vec_push(&o->module.sections, m->sections[i]);
	o->path = m->kernel_module ? xstrdup(m->kernel_module)
		  : m->path	   ? xstrdup(m->path)
				   : scratch_path(s, m->name);
	o->input = (struct symbolizer_input){.module = &o->module,
					     .path = o->path,
					     .fd = m->kernel_module ? -1 : fd,
					     .root = m->root,
					     .search = &o->search};
	o->input.files = module_files_new(&o->input);
}

static void close_input(struct opened *o)
{
	module_files_unref(o->input.files);
	vec_release(&o->module.sections);
	close(o->fd);
	free(o->path);
}

static void check_chain(const struct expected *expected, const struct answer *answer)
{
	if (answer->depth != expected->depth)
		fail_msg("%s: %zu functions, not %zu", expected->mark, answer->depth,
			 expected->depth);
	for (size_t i = 0; i < expected->depth; i++) {
		const struct location *got = &answer->chain[i], *wanted = &expected->chain[i];

		assert_non_null(got->func);
		assert_string_equal(got->func, wanted->func);
		assert_non_null(got->file);
		if (!text_ends_with(got->file, wanted->file) || got->line != wanted->line)
			fail_msg("%s: %s:%u, not %s:%u", expected->mark, got->file, got->line,
				 wanted->file, wanted->line);
		if (got->start_line != wanted->start_line)
			fail_msg("%s: %s starts at line %u, not %u", expected->mark, wanted->func,
				 got->start_line, wanted->start_line);
	}
}

enum symbol_reason marked_check(const struct scratch *s, const struct marked *m)
{
	struct opened o;
	struct symbolizer *dwarf;
	enum symbol_reason reason;

	open_input(&o, s, m);
	if (symbolizer_dwarf.open(&dwarf, &o.input, NULL) == 0) {
		for (size_t i = 0; i < sizeof(expectations) / sizeof(*expectations); i++) {
			const struct expected *expected = &expectations[i];
			uint64_t rva = scratch_rva(s, m->symbols ? m->symbols : m->name,
						   expected->mark) +
				       m->shift;
			struct answer answer = {0};

			dwarf->ops->lookup(dwarf, &rva, 1, &answer);
			if (module_files_reason(o.input.files) == SYMBOLS_FOUND)
				check_chain(expected, &answer);
		}
		dwarf->ops->free(dwarf);
	}
	reason = module_files_reason(o.input.files);
	close_input(&o);
	return reason;
}

bool marked_has_symbols(const struct scratch *s, const struct marked *m)
{
	uint64_t rva = scratch_rva(s, m->symbols ? m->symbols : m->name, "mark_one_outer");
	struct answer answer = {0};
	struct symbolizer *elf;
	struct opened o;
	bool is_named = false;

	open_input(&o, s, m);
	if (symbolizer_elf.open(&elf, &o.input, NULL) == 0) {
		elf->ops->lookup(elf, &rva, 1, &answer);
		is_named = answer.func && strcmp(answer.func, "one_outer") == 0;
		elf->ops->free(elf);
	}
	close_input(&o);
	return is_named;
}

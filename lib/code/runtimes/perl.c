/* SPDX-License-Identifier: MIT */
/*
 * Perl 5. Its interpreter does not describe its structures: offsets come from a table by version,
 * and variables are exported.
 */
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/runtime.h"

/*
 * Layouts of the start of an interpreter and of a context, from the headers of each version. They
 * are the same in builds with and without threads.
 */

/* clang-format off */
static const struct perl_layout layouts[] = {
	{
		.version = RUNTIME_VERSION(5, 30), .stack = 240, .statement = 224,
		.stack_type = 40, .context_size = 96, .context_code = 64,
	},
	{
		.version = RUNTIME_VERSION(5, 32), .stack = 240, .statement = 224,
		.stack_type = 44, .context_size = 104, .context_code = 72,
	},
	{
		.version = RUNTIME_VERSION(5, 34), .stack = 224, .statement = 208,
		.stack_type = 44, .context_size = 104, .context_code = 72,
	},
	{
		.version = RUNTIME_VERSION(5, 42), /* and from 5.36 on */
		.stack = 224, .statement = 208,
		.stack_type = 44, .context_size = 104, .context_code = 72, .hash_extra = 32,
	},
};
/* clang-format on */

/* Odd versions are for development. */
static bool layout_of_version(uint8_t version, struct perl_layout *layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if ((layouts[i].version & 255u) < version)
			continue;
		*layout = layouts[i];
		layout->version = RUNTIME_VERSION(5, version);
		return !(version & 1) && version >= (layouts[0].version & 255u);
	}
	return false;
}

enum {
	INTERPRETER, /* in all builds */
	VERSION,
	RUN,
	RUN_DEBUG,
	MAIN,
	KEY, /* with threads */
	STACK, /* without */
	STATEMENT,
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[INTERPRETER] = {.name = "PL_curinterp"},
	[VERSION] = {.name = "PL_version"},
	[RUN] = {.name = "Perl_runops_standard"},
	[RUN_DEBUG] = {.name = "Perl_runops_debug"},
	[MAIN] = {.name = "perl_run"},
	[KEY] = {.name = "PL_thr_key"},
	[STACK] = {.name = "PL_curstackinfo"},
	[STATEMENT] = {.name = "PL_curcop"},
};

static void set_range(const struct binary_object *object, __u64 *start, __u64 *end)
{
	*start = object->is_there ? object->vaddr : 0;
	*end = object->is_there ? object->vaddr + object->size : 0;
}

/* Sets the addresses. False: the file is not a complete interpreter. */
static bool set_places(const struct binary_object *objects, struct perl_layout *l)
{
	set_range(&objects[RUN], &l->run_start[0], &l->run_end[0]);
	set_range(&objects[RUN_DEBUG], &l->run_start[1], &l->run_end[1]);
	set_range(&objects[MAIN], &l->main_start, &l->main_end);
	l->interpreter = objects[INTERPRETER].vaddr;
	if (objects[KEY].is_there) {
		l->key = objects[KEY].vaddr;
	} else {
		l->stack = objects[STACK].vaddr;
		l->statement = objects[STATEMENT].vaddr;
	}
	return l->run_end[0] > l->run_start[0] &&
	       (l->key || (objects[STACK].is_there && objects[STATEMENT].is_there));
}

static int probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct binary_object objects[OBJECT_COUNT];
	uint8_t version;

	memcpy(objects, wanted, sizeof(wanted));
	/* Look up only this one at first: most files lack it. */
	binary_find_exported(b, objects, 1);
	if (!objects[INTERPRETER].is_there)
		return 0;
	binary_find_exported(b, objects, OBJECT_COUNT);
	if (!objects[VERSION].is_there ||
	    !binary_read_text(b, objects[VERSION].vaddr, &version, sizeof(version)))
		return 0;
	if (!layout_of_version(version, &layout->perl))
		return error_text(err, -ENOTSUP, "Perl 5.%u is not supported", version);
	if (!set_places(objects, &layout->perl))
		return error_text(err, -ENOTSUP, "cannot find the interpreter of Perl 5.%u",
				  version);
	layout->kind = RUNTIME_PERL;
	return 0;
}

static bool is_sane(const struct runtime_layout *layout)
{
	const struct perl_layout *l = &layout->perl;
	struct perl_layout known;

	return layout_of_version(l->version & 255, &known) && l->version == known.version &&
	       l->stack_type == known.stack_type && l->context_size == known.context_size &&
	       l->context_code == known.context_code && l->hash_extra == known.hash_extra;
}

/* See enum perl_code in bpf/runtimes/perl_stack.bpf.h. */
static const char *name_of_file_code(char code)
{
	static const char *const names[] = {"(main)", "(eval)", "(require)"};

	return code >= '0' && code <= '2' ? names[code - '0'] : "";
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	const char *name = function->body, *file = name + function->name.size,
		   *package = file + function->file.size;

	code->start = -1;
	code->first_line = function->first_line <= INT32_MAX ? function->first_line : 0;
	code->is_cut = (function->name.flags | function->file.flags | function->lines.flags) &
		       FUNCTION_CUT;
	code->tier = NULL;
	vec_clear(&code->lines);
	if (function->code && function->code <= INT32_MAX)
		vec_push(&code->lines, ((struct managed_line){0, (uint32_t)function->code, 0}));
	strbuf_reset(&code->name);
	strbuf_reset(&code->file);
	managed_text_add(&code->file, file, function->file.size);
	if (!function->lines.width && !function->lines.flags && function->name.size == 1) {
		strbuf_adds(&code->name, name_of_file_code(*name));
		return;
	}
	managed_text_add(&code->name, package, function->lines.size);
	strbuf_adds(&code->name, code->name.size ? "::" : "");
	managed_text_add(&code->name, name, function->name.size);
	/* Code whose name was removed is called this by Perl itself. */
	if (!function->name.size)
		strbuf_adds(&code->name, "__ANON__");
}

const struct runtime runtime_perl = {
	.kind = RUNTIME_PERL,
	.name = "Perl",
	.probe = probe,
	.is_sane = is_sane,
	.version_at = offsetof(struct runtime_layout, perl.version),
	.decode = decode,
};

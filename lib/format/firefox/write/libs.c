/* SPDX-License-Identifier: MIT */
/*
 * Modules become libs. Symbolizers find a lib by (debug name, breakpad id), so the pair must be
 * unique, and the name must not contain a slash.
 */
#include "lib/format/firefox/write/internal.h"

static bool lib_equal(const void *table, uint32_t id, const void *key)
{
	const struct firefox *f = table;
	const struct firefox_lib *row = &f->libs.items[id], *wanted = key;

	return row->name == wanted->name && !strcmp(row->breakpad_id, wanted->breakpad_id);
}

static uint64_t lib_hash(const struct firefox_lib *lib)
{
	return hash_bytes(lib->breakpad_id, BREAKPAD_ID_SIZE, lib->name);
}

static string_id intern(struct firefox *f, const struct strbuf *text)
{
	return file_strings_intern_sized(&f->file_strings, strbuf_text(text), text->size);
}

static void name_lib(struct firefox *f, struct firefox_lib *lib, const struct module *module)
{
	struct file_strings *strings = &f->file_strings;
	struct strbuf name __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	lib->name = firefox_clean(f, module->name);
	lib->path = firefox_clean(f, module->path);
	if (module->kind == PROFILE_MODULE_KERNEL)
		lib->name = file_strings_intern(strings, "[kernel.kallsyms]");
	else if (module->kind == PROFILE_MODULE_VDSO)
		lib->name = file_strings_intern(strings, "[vdso]");
	if (!file_strings_size(strings, lib->name))
		lib->name = lib->path;
	if (!file_strings_size(strings, lib->name))
		lib->name = file_strings_intern(strings, "unknown");
	if (!file_strings_size(strings, lib->path))
		lib->path = lib->name;

	strbuf_add(&name, file_strings_get(strings, lib->name),
		   file_strings_size(strings, lib->name));
	for (size_t i = 0; i < name.size; i++) {
		if (name.text[i] == '/')
			name.text[i] = '_';
	}
	lib->name = intern(f, &name);
}

static uint32_t find_lib(const struct firefox *f, const struct firefox_lib *lib)
{
	return index_find(&f->lib_index, lib_hash(lib), lib_equal, f, lib);
}

/* Makes one lib of modules with equal name and build id (a file and its copy in a container). */
static uint32_t intern_lib(struct firefox *f, module_id id)
{
	const struct module *module = &f->profile->modules.rows.items[id];
	struct firefox_lib lib = {.module = id};
	uint8_t build_id[16] = {0};
	uint32_t position;

	name_lib(f, &lib, module);
	if (module->build_id_size) {
		memcpy(build_id, module->build_id,
		       module->build_id_size < 16 ? module->build_id_size : 16);
		breakpad_id_format(lib.breakpad_id, build_id);
		position = find_lib(f, &lib);
		if (position != INDEX_NONE)
			return position;
	} else {
		for (uint64_t salt = 0; !salt || find_lib(f, &lib) != INDEX_NONE; salt++)
			breakpad_id_invent(lib.breakpad_id,
					   file_strings_get(&f->file_strings, lib.path),
					   file_strings_size(&f->file_strings, lib.path), salt);
	}
	position = (uint32_t)f->libs.count;
	vec_push(&f->libs, lib);
	index_add(&f->lib_index, lib_hash(&lib), position);
	/* Each lib becomes a resource, which needs its name as a string. */
	firefox_string(f, lib.name);
	return position;
}

int32_t firefox_lib(struct firefox *f, module_id module)
{
	if (f->module_libs[module] == NO_LIB)
		f->module_libs[module] = (int32_t)intern_lib(f, module);
	return f->module_libs[module];
}

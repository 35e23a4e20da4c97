/* SPDX-License-Identifier: MIT */
#include "cmd/net/script_sources.h"

#include "lib/format/firefox/patch/contents.h"
#include "symbolize/source_texts.h"

#define FILE_MAX ((uint64_t)4 << 20)
#define TOTAL_MAX ((uint64_t)64 << 20)

struct scripts {
	struct strings paths;
	const struct readers *owners;
	uint64_t left; /* bytes */
};

/* Returns the file of a script's function that has no text. NULL: it is no such function. */
static const struct source_file *missing_file(const struct profile *p, const struct func *func)
{
	const struct source_file *file;

	if (func->module != NO_MODULE || func->file == NO_SOURCE_FILE)
		return NULL;
	file = &p->source_files.rows.items[func->file];
	return file->text ? NULL : file;
}

bool script_sources_are_missing(const struct profile *p)
{
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		if (missing_file(p, func))
			return true;
	}
	return false;
}

static char *find_text(void *ctx, const char *path, size_t *size)
{
	struct scripts *s = ctx;
	uint64_t max = s->left < FILE_MAX ? s->left : FILE_MAX;
	struct source_text source = {0};

	if (strings_find(&s->paths, path, strlen(path)) == NO_STRING ||
	    source_text_read(s->owners, path, max, &source) != SOURCE_TAKEN)
		return NULL;
	s->left -= source.size;
	*size = source.size;
	return source.text;
}

int script_sources_write(const struct profile *p, const struct readers *owners, const char *text,
			 size_t size, struct outfile *out, struct error *err)
{
	struct scripts scripts = {.owners = owners, .left = TOTAL_MAX};
	int ret;

	vec_for_each(&p->funcs.rows, const struct func *, func) {
		const struct source_file *file = missing_file(p, func);

		if (file)
			strings_intern(&scripts.paths, strings_get(&p->strings, file->path));
	}
	ret = contents_write(text, size, find_text, &scripts, out, err);
	strings_release(&scripts.paths);
	return ret;
}

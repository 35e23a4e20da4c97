/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/firefox.h"

#include "lib/base/quote.h"

/* Is it what the marker calls the program anyway? Names in the kernel are cut. */
static bool is_named(const struct texts *texts, const struct marker *marker, const char *program)
{
	const char *slash = strrchr(program, '/'), *name = texts_get(texts, marker->name);
	size_t size = texts_size(texts, marker->name);

	return size && strncmp(slash ? slash + 1 : program, name, size) == 0;
}

string_id firefox_arguments(struct firefox *f, const struct marker *marker)
{
	struct strbuf text __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct texts *texts = &f->texts;
	size_t size = texts_size(texts, marker->arguments);
	const char *list = texts_get(texts, marker->arguments);

	if (size && is_named(texts, marker, list)) {
		size_t program = strlen(list) + 1;

		list += program;
		size -= program < size ? program : size;
	}
	quote_list(&text, list, size);
	return text.size ? texts_intern_sized(texts, text.text, text.size) : NO_STRING;
}

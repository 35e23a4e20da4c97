/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/firefox.h"

#include "lib/base/quote.h"

/* Is it what the marker calls the program anyway? Names in the kernel are cut. */
static bool is_named(const struct strings *strings, const struct marker *marker,
		     const char *program)
{
	const char *slash = strrchr(program, '/'), *name = strings_get(strings, marker->name);
	size_t size = strings_size(strings, marker->name);

	return size && strncmp(slash ? slash + 1 : program, name, size) == 0;
}

string_id firefox_arguments(struct firefox *f, const struct marker *marker)
{
	struct strbuf text __attribute__((cleanup(strbuf_release_cleanup))) = {0};
	struct strings *strings = &f->profile->strings;
	size_t size = strings_size(strings, marker->arguments);
	const char *list = strings_get(strings, marker->arguments);

	if (size && is_named(strings, marker, list)) {
		size_t program = strlen(list) + 1;

		list += program;
		size -= program < size ? program : size;
	}
	quote_list(&text, list, size);
	return text.size ? strings_intern_sized(strings, text.text, text.size) : NO_STRING;
}

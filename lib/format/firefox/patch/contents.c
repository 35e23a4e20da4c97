/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/patch/contents.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/read/layout.h"

struct contents {
	struct layout layout;
	VEC(struct span) strings; /* of shared.stringArray */
	int64_t *names; /* by source; positions of strings */
	VEC(bool) has_text; /* by source */
	source_content_fn *find;
	void *ctx;
};

static void list_strings(struct contents *c)
{
	struct json_cursor s = json_cursor_within(&c->layout.cursor, c->layout.strings);
	struct json_cursor_list list = {0};
	struct span value;

	while (json_cursor_element(&s, &list)) {
		json_cursor_value(&s, &value);
		vec_push(&c->strings, value);
	}
}

static void list_texts(struct contents *c)
{
	const struct column *column = table_column(&c->layout.sources, &c->layout.cursor,
						   "content");
	struct json_cursor_list list = {0};
	struct json_cursor s;

	if (!column)
		return;
	s = json_cursor_within(&c->layout.cursor, column->values);
	while (json_cursor_element(&s, &list)) {
		bool has_text = !json_cursor_null(&s);

		if (has_text)
			json_cursor_skip(&s);
		vec_push(&c->has_text, has_text);
	}
}

static int read_sources(struct contents *c, const char *text, size_t size, struct error *err)
{
	int ret = layout_read(&c->layout, text, size, err);
	const struct cell_range range = {.max = (int64_t)c->layout.string_count - 1};

	if (!ret)
		ret = table_read_cells(&c->layout.sources, &c->layout.cursor, "filename", &range,
				       true, &c->names, err);
	if (ret)
		return ret;
	list_strings(c);
	list_texts(c);
	return 0;
}

static bool write_text(void *ctx, struct jsonw *w, size_t row)
{
	struct contents *c = ctx;
	struct json_cursor s = json_cursor_within(&c->layout.cursor,
						  c->strings.items[c->names[row]]);
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t size = 0;

	if (c->has_text.items[row])
		return false;
	path = json_cursor_text(&s);
	text = path ? c->find(c->ctx, path, &size) : NULL;
	if (text)
		jsonw_string(w, text, size);
	return text;
}

static void write_sources(struct contents *c, struct jsonw *w)
{
	const struct new_column column = {.name = "content", .write = write_text, .ctx = c};
	size_t count = c->layout.sources.length;
	_cleanup_free_ uint32_t *rows = xreallocarray(NULL, count + 1, sizeof(*rows));

	for (size_t row = 0; row < count; row++)
		rows[row] = (uint32_t)row;
	table_write(&c->layout.sources, &c->layout.cursor,
		    &(struct new_rows){rows, count, &column, 1}, w);
}

int contents_write(const char *text, size_t size, source_content_fn *find, void *ctx,
		   struct outfile *out, struct error *err)
{
	struct contents c = {.find = find, .ctx = ctx};
	int ret = read_sources(&c, text, size, err);
	struct span at = c.layout.sources.span;
	struct jsonw w;

	if (!ret) {
		jsonw_init(&w, out);
		jsonw_raw(&w, text, at.start);
		w.is_first = true;
		write_sources(&c, &w);
		jsonw_raw(&w, text + at.end, size - at.end);
		jsonw_release(&w);
	}
	layout_release(&c.layout);
	vec_release(&c.strings);
	vec_release(&c.has_text);
	free(c.names);
	return ret;
}

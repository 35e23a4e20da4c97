/* SPDX-License-Identifier: MIT */
/* Kernel frames get their subcategories late, by the function's name. */
#include "lib/base/cleanup.h"
#include "lib/format/firefox/patch/internal.h"

/* Positions of categories take a byte. */
#define CATEGORIES_MAX 256

static bool is_text(struct json_cursor *s, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (json_cursor_peek(s) != '"')
		return json_cursor_skip(s) && false;
	return json_cursor_string(s, &text) && wanted && strcmp(strbuf_text(&text), wanted) == 0;
}

/* Tells whether the value at the cursor is a list of exactly these texts. */
static bool are_texts(struct json_cursor *s, const char *const *wanted)
{
	struct json_cursor_list list = {0};
	bool is_same = true;

	if (json_cursor_peek(s) != '[')
		return json_cursor_skip(s) && false;
	while (json_cursor_element(s, &list)) {
		is_same &= is_text(s, *wanted);
		wanted += *wanted != NULL;
	}
	return is_same && !*wanted;
}

static bool is_category(struct json_cursor *s, const struct category_row *wanted)
{
	bool has_name = false, has_subcategories = false;
	struct json_cursor_list list = {0};
	struct span key;

	if (json_cursor_peek(s) != '{')
		return json_cursor_skip(s) && false;
	while (json_cursor_member(s, &list, &key)) {
		if (span_is(s, key, "name"))
			has_name = is_text(s, wanted->name);
		else if (span_is(s, key, "subcategories"))
			has_subcategories = are_texts(s, wanted->subcategories);
		else
			json_cursor_skip(s);
	}
	return has_name && has_subcategories;
}

int patch_kernel_category(const struct patch *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.categories);
	struct json_cursor_list list = {0};

	if (!r->layout.categories.end || json_cursor_peek(&s) != '[')
		return -1;
	for (int row = 0; row < CATEGORIES_MAX && json_cursor_element(&s, &list); row++) {
		if (is_category(&s, categories[CATEGORY_KERNEL]))
			return row;
	}
	return -1;
}

/* SPDX-License-Identifier: MIT */
/* meta.extra, "Show more" in the front-end: the file's entries merged with new ones. */
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/patch/internal.h"

struct extra_writer {
	const struct profile *profile;
	bool *is_written; /* by row of the profile's */
	struct jsonw *w;
};

static void write_entry(struct extra_writer *x, size_t row)
{
	const struct profile_extra *extra = &x->profile->meta.extra.items[row];
	struct jsonw *w = x->w;
	uint64_t number;
	bool is_number = strcmp(extra->format, "string") != 0 &&
			 text_to_u64(extra->value, 10, &number);

	x->is_written[row] = true;
	jsonw_object_begin(w);
	jsonw_key(w, "label");
	jsonw_cstring(w, extra->label);
	jsonw_key(w, "format");
	jsonw_cstring(w, is_number ? extra->format : "string");
	jsonw_key(w, "value");
	if (is_number)
		jsonw_u64(w, number);
	else
		jsonw_cstring(w, extra->value);
	jsonw_object_end(w);
}

/* Writes the rows of this section that are not written yet. */
static void write_entries(struct extra_writer *x, const char *section)
{
	for (size_t i = 0; i < x->profile->meta.extra.count; i++) {
		if (!x->is_written[i] &&
		    strcmp(x->profile->meta.extra.items[i].section, section) == 0)
			write_entry(x, i);
	}
}

static void write_raw(struct extra_writer *x, const struct json_cursor *s, struct span span)
{
	jsonw_raw_begin(x->w);
	jsonw_raw(x->w, s->text + span.start, span.end - span.start);
}

/* Reads the label of a section or an entry, "" if it has none. */
static void read_label(const struct json_cursor *of, struct span object, struct strbuf *label)
{
	struct json_cursor s = json_cursor_within(of, object);
	struct json_cursor_list list = {0};
	struct span key;

	strbuf_reset(label);
	if (json_cursor_peek(&s) != '{')
		return;
	while (json_cursor_member(&s, &list, &key)) {
		if (span_is(&s, key, "label") && json_cursor_peek(&s) == '"')
			json_cursor_string(&s, label);
		else
			json_cursor_skip(&s);
	}
}

/* Returns the row that replaces the file's entry, or -1. */
static ssize_t find_entry(const struct extra_writer *x, const char *section, const char *label)
{
	for (size_t i = 0; i < x->profile->meta.extra.count; i++) {
		const struct profile_extra *extra = &x->profile->meta.extra.items[i];

		if (!x->is_written[i] && !strcmp(extra->section, section) &&
		    !strcmp(extra->label, label))
			return (ssize_t)i;
	}
	return -1;
}

static void merge_entries(struct extra_writer *x, struct json_cursor *s, const char *section)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};
	struct json_cursor_list list = {0};
	struct span entry;

	jsonw_array_begin(x->w);
	while (json_cursor_element(s, &list)) {
		ssize_t row;

		json_cursor_value(s, &entry);
		read_label(s, entry, &label);
		row = find_entry(x, section, strbuf_text(&label));
		if (row >= 0)
			write_entry(x, (size_t)row);
		else
			write_raw(x, s, entry);
	}
	write_entries(x, section);
	jsonw_array_end(x->w);
}

static void merge_section(struct extra_writer *x, const struct json_cursor *of, struct span section)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};
	struct json_cursor s = json_cursor_within(of, section);
	struct json_cursor_list list = {0};
	struct span key, value;

	read_label(of, section, &label);
	if (json_cursor_peek(&s) != '{') {
		write_raw(x, of, section);
		return;
	}
	jsonw_object_begin(x->w);
	while (json_cursor_member(&s, &list, &key)) {
		_cleanup_free_ char *name = xstrndup(s.text + key.start, key.end - key.start);

		jsonw_key(x->w, name);
		if (strcmp(name, "entries") == 0 && json_cursor_peek(&s) == '[') {
			merge_entries(x, &s, strbuf_text(&label));
		} else {
			json_cursor_value(&s, &value);
			write_raw(x, &s, value);
		}
	}
	jsonw_object_end(x->w);
}

static void write_new_sections(struct extra_writer *x)
{
	for (size_t i = 0; i < x->profile->meta.extra.count; i++) {
		const char *section = x->profile->meta.extra.items[i].section;

		if (x->is_written[i])
			continue;
		jsonw_object_begin(x->w);
		jsonw_key(x->w, "label");
		jsonw_cstring(x->w, section);
		jsonw_key(x->w, "entries");
		jsonw_array_begin(x->w);
		write_entries(x, section);
		jsonw_array_end(x->w);
		jsonw_object_end(x->w);
	}
}

void patch_extra(const struct patch *r, struct jsonw *w)
{
	size_t count = r->profile->meta.extra.count;
	_cleanup_free_ bool *is_written = xcalloc(count + 1, sizeof(*is_written));
	struct extra_writer x = {.profile = r->profile, .is_written = is_written, .w = w};
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.extra);
	struct json_cursor_list list = {0};
	struct span section;

	jsonw_array_begin(w);
	while (r->layout.extra.end && json_cursor_element(&s, &list)) {
		json_cursor_value(&s, &section);
		merge_section(&x, &s, section);
	}
	write_new_sections(&x);
	jsonw_array_end(w);
}

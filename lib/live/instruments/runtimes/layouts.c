/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/layouts.h"

#include <errno.h>
#include <string.h>

static bool is_equal(const struct runtime_layout *a, const struct runtime_layout *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void layouts_release(struct layouts *l)
{
	vec_release(&l->rows);
}

bool layouts_find(const struct layouts *l, const struct runtime_layout *file, uint32_t *number)
{
	for (uint32_t i = 0; i < l->rows.count; i++) {
		if (is_equal(&l->rows.items[i].file, file)) {
			*number = i;
			return true;
		}
	}
	return false;
}

bool layouts_are_full(struct layouts *l)
{
	bool is_full = l->rows.count >= RUNTIME_LAYOUTS_MAX;

	l->refused += is_full;
	return is_full;
}

int layouts_store(struct layouts *l, struct programs *programs, uint32_t number,
		  const struct runtime_layout *layout, struct error *err)
{
	struct found_layout *found;
	int code;

	if (number == l->rows.count && layouts_are_full(l))
		return error_text(err, -ENOSPC, "too many processes tell different things");
	code = programs_set_layout(programs, number, layout, err);
	if (code)
		return code;
	if (number == l->rows.count)
		vec_push(&l->rows, ((struct found_layout){.file = *layout}));
	found = &l->rows.items[number];
	found->layout = *layout;
	runtimes[layout->kind]->version(layout, found->version, sizeof(found->version));
	return 0;
}

int layouts_complete(struct layouts *l, struct programs *programs, uint32_t *number,
		     const struct runtime_layout *layout, struct error *err)
{
	const struct found_layout *found = &l->rows.items[*number];

	if (is_equal(&found->layout, layout))
		return 0;
	if (is_equal(&found->layout, &found->file))
		return layouts_store(l, programs, *number, layout, err);
	for (*number = 0; *number < l->rows.count; ++*number) {
		if (is_equal(&l->rows.items[*number].layout, layout))
			return 0;
	}
	return layouts_store(l, programs, *number, layout, err);
}

/* Tells whether an earlier row has the version. */
static bool is_listed(const struct layouts *l, size_t row)
{
	const struct found_layout *found = &l->rows.items[row];

	for (size_t i = 0; i < row; i++) {
		if (l->rows.items[i].layout.kind == found->layout.kind &&
		    strcmp(l->rows.items[i].version, found->version) == 0)
			return true;
	}
	return false;
}

void layouts_list_versions(const struct layouts *l, struct strbuf *out)
{
	for (size_t i = 0; i < l->rows.count; i++) {
		const struct found_layout *found = &l->rows.items[i];

		if (found->layout.kind == RUNTIME_NONE || found->layout.kind == RUNTIME_GO ||
		    !*found->version || is_listed(l, i))
			continue;
		strbuf_addf(out, "%s%s %s", out->size ? ", " : "",
			    runtimes[found->layout.kind]->name, found->version);
	}
}

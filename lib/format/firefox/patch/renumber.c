/* SPDX-License-Identifier: MIT */
/* New positions for rows that move because others come and go. */
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/patch/internal.h"

/* Drops functions that were only addresses; functions that were unused from the beginning stay. */
static bool drop_funcs(struct patch *r, const bool *had_use, bool *dropped_names)
{
	size_t count = r->funcs.count, kept = 0;
	_cleanup_free_ bool *is_used = xcalloc(count + 1, sizeof(*is_used));
	_cleanup_free_ int64_t *positions = xreallocarray(NULL, count + 1, sizeof(*positions));

	vec_for_each(&r->frames, const struct frame_draft *, frame)
		is_used[frame->func] = true;
	for (size_t i = 0; i < count; i++) {
		struct func_draft *func = &r->funcs.items[i];

		if (i < r->layout.funcs.length && had_use[i] && !is_used[i]) {
			dropped_names[func->name] = true;
			continue;
		}
		positions[i] = (int64_t)kept;
		r->funcs.items[kept++] = *func;
	}
	r->funcs.count = kept;
	vec_for_each(&r->frames, struct frame_draft *, frame)
		frame->func = positions[frame->func];
	return kept < count;
}

static void keep_cells(bool *dropped, const int64_t *cells, size_t count)
{
	for (size_t i = 0; cells && i < count; i++) {
		if (cells[i] >= 0)
			dropped[cells[i]] = false;
	}
}

static void keep_reference(const struct patch *r, const struct reference *reference, bool *dropped)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, reference->at);
	struct json_cursor_list list = {0};
	int64_t value;

	if (reference->kind == REFERENCE_STRING) {
		if (!json_cursor_null(&s) && json_cursor_i64(&s, &value))
			dropped[value] = false;
		return;
	}
	while (json_cursor_element(&s, &list)) {
		if (!json_cursor_null(&s) && json_cursor_i64(&s, &value))
			dropped[value] = false;
	}
}

/* `dropped` by position: names of dropped functions. Keeps the names with other uses. */
static void keep_used_strings(const struct patch *r, bool *dropped)
{
	const struct layout *l = &r->layout;

	vec_for_each(&r->funcs, const struct func_draft *, func)
		dropped[func->name] = false;
	vec_for_each(&r->symbols, const struct symbol_draft *, symbol)
		dropped[symbol->name] = false;
	vec_for_each(&r->sources, const struct source_draft *, source)
		dropped[source->name] = false;
	keep_cells(dropped, r->cells.source_map, l->sources.length);
	keep_cells(dropped, r->cells.resource_name, l->resources.length);
	keep_cells(dropped, r->cells.resource_host, l->resources.length);
	vec_for_each(&r->references, const struct reference *, reference) {
		if (reference->kind == REFERENCE_STRING || reference->kind == REFERENCE_STRINGS)
			keep_reference(r, reference, dropped);
	}
}

void patch_drop_unused(struct patch *r, const bool *had_use)
{
	size_t count = r->layout.string_count + r->new_strings.count;
	_cleanup_free_ bool *dropped = xcalloc(count + 1, sizeof(*dropped));
	uint32_t position = 0;

	/* Unknown parts may refer to strings, so all strings stay. */
	if (!drop_funcs(r, had_use, dropped) || r->layout.has_unknown)
		return;
	keep_used_strings(r, dropped);
	r->string_map = xreallocarray(NULL, count + 1, sizeof(*r->string_map));
	for (size_t i = 0; i < count; i++)
		r->string_map[i] = dropped[i] ? NO_POSITION : position++;
}

static bool has_extras(const struct patch *r)
{
	return r->frames.count > r->layout.frames.length;
}

void patch_stacks(struct patch *r)
{
	size_t count = r->layout.stacks.length;

	if (!has_extras(r))
		return;
	r->stack_positions = xreallocarray(NULL, count + 1, sizeof(*r->stack_positions));
	for (uint32_t row = 0; row < count; row++) {
		int64_t frame = r->cells.stack_frame[row], parent = r->cells.stack_parent[row];
		const struct extra_frames *extras = &r->extras[frame];
		struct stack_draft draft = {
			.from = row,
			.frame = frame,
			.parent = parent == CELL_NULL ? NO_POSITION : r->stack_positions[parent],
		};

		vec_push(&r->stacks, draft);
		for (uint32_t i = 0; i < extras->count; i++) {
			draft.parent = (uint32_t)r->stacks.count - 1;
			draft.frame = extras->first + i;
			vec_push(&r->stacks, draft);
		}
		r->stack_positions[row] = (uint32_t)r->stacks.count - 1;
	}
}

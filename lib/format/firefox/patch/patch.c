/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/patch/patch.h"

#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/firefox/patch/internal.h"

static uint32_t *position_of(struct patch *r, string_id id)
{
	while (r->string_positions.count <= id)
		vec_push(&r->string_positions, NO_POSITION);
	return &r->string_positions.items[id];
}

static int read_strings(struct patch *r, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.strings);
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct json_cursor_list list = {0};
	uint32_t *position;

	while (json_cursor_element(&s, &list)) {
		uint32_t row = (uint32_t)r->string_ids.count;
		string_id id;

		if (!json_cursor_string(&s, &text))
			return error_text(err, -EBADMSG, "shared.stringArray[%u] is damaged", row);
		id = strings_intern_sized(&r->profile->strings, strbuf_text(&text), text.size);
		vec_push(&r->string_ids, id);
		position = position_of(r, id);
		/* Use the first one if the file has a string twice. */
		if (*position == NO_POSITION)
			*position = row;
	}
	return 0;
}

uint32_t patch_string(struct patch *r, string_id id)
{
	struct strings *strings = &r->profile->strings;
	_cleanup_(strbuf_release) struct strbuf clean = {0};
	uint32_t *position;

	if (!jsonw_is_clean(strings_get(strings, id), strings_size(strings, id))) {
		jsonw_clean(&clean, strings_get(strings, id), strings_size(strings, id));
		id = strings_intern_sized(strings, strbuf_text(&clean), clean.size);
	}
	position = position_of(r, id);
	if (*position == NO_POSITION) {
		*position = (uint32_t)(r->layout.string_count + r->new_strings.count);
		vec_push(&r->new_strings, id);
	}
	return *position;
}

static module_id find_module(struct patch *r, uint32_t position)
{
	const struct layout_lib *lib = &r->layout.libs.rows.items[position];
	struct strings *strings = &r->profile->strings;
	struct module *module;
	module_id id = r->lib_modules[position];

	if (id != NO_MODULE)
		return id;
	id = modules_add(&r->profile->modules, layout_lib_kind(lib),
			 strings_intern(strings, *lib->path ? lib->path : lib->name),
			 strings_intern(strings, lib->name));
	module = modules_get(&r->profile->modules, id);
	module->was_deleted = layout_lib_was_deleted(lib);
	module->build_id_size = lib->build_id_size;
	memcpy(module->build_id, lib->build_id, sizeof(module->build_id));
	r->lib_modules[position] = id;
	vec_push(&r->module_libs, position);
	return id;
}

static bool has_made_up_name(const struct patch *r, size_t row)
{
	const struct cells *c = &r->cells;
	string_id name = r->string_ids.items[c->func_name[c->frame_func[row]]];

	return cells_is_synthetic(strings_get(&r->profile->strings, name));
}

/* Tells whether the frame is a place in the code of a lib and not inlined. */
static bool is_place(const struct patch *r, size_t row)
{
	const struct cells *c = &r->cells;

	return c->frame_lib[row] >= 0 && c->frame_address[row] >= 0 && !c->frame_depth[row];
}

static bool is_unnamed(const struct patch *r, size_t row)
{
	return is_place(r, row) && has_made_up_name(r, row);
}

size_t patch_named_before(const struct patch *r, module_id module)
{
	size_t count = 0;

	for (size_t row = 0; row < r->layout.frames.length; row++)
		count += is_place(r, row) &&
			 r->cells.frame_lib[row] == (int64_t)r->module_libs.items[module] &&
			 !has_made_up_name(r, row);
	return count;
}

/* Makes a stack and a sample of each unnamed frame, so that it survives the expansion. */
static void collect_unnamed(struct patch *r)
{
	struct profile *p = r->profile;
	struct profile_thread *thread =
		threads_get(&p->threads, threads_add(&p->threads, &(struct profile_thread){
									  .is_main = true,
								  }));

	for (size_t row = 0; row < r->layout.frames.length; row++) {
		struct frame frame = {.func = NO_FUNC, .symbol = NO_SYMBOL};
		struct sample sample = {.weight = 1};

		if (!is_unnamed(r, row))
			continue;
		frame.module = find_module(r, (uint32_t)r->cells.frame_lib[row]);
		frame.offset = (uint64_t)r->cells.frame_address[row];
		if (module_is_kernel(modules_get(&p->modules, frame.module)))
			frame.kind = PROFILE_FRAME_KERNEL;
		sample.stack = stacks_intern(&p->stacks, NO_STACK,
					     frames_intern(&p->frames, &frame));
		samples_add(&thread->samples, &sample);
		vec_push(&r->unnamed, (uint32_t)row);
	}
}

DEFINE_CLEANUP(struct patch *, patch_free)

int patch_open(struct patch **out, char *text, size_t size, struct error *err)
{
	_cleanup_(patch_free) struct patch *r = xcalloc(1, sizeof(*r));
	struct strbuf clean = {0};
	int ret;

	if (!jsonw_is_clean(text, size)) {
		/* Names that are put back are UTF-8, so all of the text has to be. */
		jsonw_clean(&clean, text, size);
		free(text);
		size = clean.size;
		text = strbuf_take(&clean);
	}
	r->text = text;
	r->profile = profile_new();
	ret = layout_read(&r->layout, text, size, err);
	if (!ret)
		ret = patch_find_references(r, err);
	if (!ret)
		ret = cells_read(&r->cells, &r->layout, true, err);
	if (!ret)
		ret = read_strings(r, err);
	if (ret)
		return ret;
	r->lib_modules = xreallocarray(NULL, r->layout.libs.rows.count + 1,
				       sizeof(*r->lib_modules));
	for (size_t i = 0; i < r->layout.libs.rows.count; i++)
		r->lib_modules[i] = NO_MODULE;
	collect_unnamed(r);
	*out = steal(r);
	return 0;
}

void patch_free(struct patch *r)
{
	if (!r)
		return;
	cells_release(&r->cells);
	layout_release(&r->layout);
	profile_free(r->profile);
	vec_release(&r->references);
	vec_release(&r->string_ids);
	vec_release(&r->string_positions);
	vec_release(&r->new_strings);
	free(r->lib_modules);
	vec_release(&r->module_libs);
	vec_release(&r->unnamed);
	vec_release(&r->frames);
	vec_release(&r->funcs);
	vec_release(&r->symbols);
	vec_release(&r->sources);
	index_release(&r->func_index);
	index_release(&r->symbol_index);
	index_release(&r->source_index);
	free(r->extras);
	free(r->categories);
	vec_release(&r->stacks);
	free(r->stack_positions);
	free(r->string_map);
	free(r->text);
	free(r);
}

struct profile *patch_profile(struct patch *r)
{
	return r->profile;
}

char *patch_os(const struct patch *r)
{
	struct json_cursor s = json_cursor_within(&r->layout.cursor, r->layout.os);
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (r->layout.os.end)
		json_cursor_string(&s, &text);
	return xstrdup(strbuf_text(&text));
}

const char *patch_debug_path(const struct patch *r, module_id module)
{
	return r->layout.libs.rows.items[r->module_libs.items[module]].debug_path;
}

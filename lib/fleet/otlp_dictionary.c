/* SPDX-License-Identifier: MIT */
#include "lib/fleet/otlp_dictionary.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/protobuf.h"
#include "lib/model/languages/language.h"

/* Fields of the messages, by their numbers in profiles.proto. */
enum { MAPPING_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES };
enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_LINES, LOCATION_ATTRIBUTES };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_NAME = 1, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME, FUNCTION_LINE };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { VALUE_STRING = 1, VALUE_INT = 3 };

uint64_t otlp_text(struct otlp_dictionary *w, const char *text)
{
	return strings_intern_line(&w->strings, text);
}

static uint64_t string_of(struct otlp_dictionary *w, string_id id)
{
	return otlp_text(w, strings_get(&w->profile->strings, id));
}

/* Makes an element of a table of the message that was built, also if it is empty. */
static void emit(struct otlp_dictionary *w, enum table table)
{
	protobuf_head(&w->tables[table], (uint32_t)table, w->message.size);
	strbuf_add(&w->tables[table], strbuf_text(&w->message), w->message.size);
	strbuf_reset(&w->message);
}

uint64_t otlp_attribute(struct otlp_dictionary *w, const char *key, const char *text,
			uint64_t number)
{
	_cleanup_free_ char *name = text ? xasprintf("%s\n%s", key, text)
					 : xasprintf("%s\t%ju", key, (uintmax_t)number);
	struct strbuf row = {0}, value = {0};
	size_t known = w->attributes.rows.count;
	string_id id = strings_intern(&w->attributes, name);

	if (id < known)
		return id;
	if (text) {
		protobuf_head(&value, VALUE_STRING, strlen(text));
		strbuf_adds(&value, text);
	} else {
		protobuf_varint(&value, VALUE_INT << 3);
		protobuf_varint(&value, number);
	}
	protobuf_u64(&row, ATTRIBUTE_KEY, otlp_text(w, key));
	protobuf_bytes(&row, ATTRIBUTE_VALUE, value.text, value.size);
	protobuf_bytes(&w->tables[ATTRIBUTE_TABLE], ATTRIBUTE_TABLE, row.text, row.size);
	strbuf_release(&row);
	strbuf_release(&value);
	return id;
}

/* Adds a list of one attribute. */
static void add_attribute(struct strbuf *out, uint32_t field, uint64_t number)
{
	struct strbuf packed = {0};

	protobuf_varint(&packed, number);
	protobuf_bytes(out, field, packed.text, packed.size);
	strbuf_release(&packed);
}

/* Writes what was built as the next row of a table, and returns its number. */
static uint32_t add_row(struct otlp_dictionary *w, enum table table, const struct strbuf *row)
{
	protobuf_bytes(&w->tables[table], (uint32_t)table, row->text, row->size);
	return ++w->counts[table];
}

static uint32_t mapping_of(struct otlp_dictionary *w, module_id id)
{
	const struct profile *p = w->profile;
	const struct module *module = id == NO_MODULE ? NULL : &p->modules.rows.items[id];
	_cleanup_(strbuf_release) struct strbuf row = {0};
	char build_id[MODULE_BUILD_ID_TEXT];

	if (!module || w->mappings[id])
		return module ? w->mappings[id] : 0;
	module_build_id_text(module, build_id);
	protobuf_u64(&row, MAPPING_FILENAME,
		     string_of(w, strings_size(&p->strings, module->path) ? module->path
									  : module->name));
	if (*build_id)
		add_attribute(&row, MAPPING_ATTRIBUTES,
			      otlp_attribute(w, "process.executable.build_id.gnu", build_id, 0));
	return w->mappings[id] = add_row(w, MAPPING_TABLE, &row);
}

static uint32_t function_of(struct otlp_dictionary *w, func_id id)
{
	const struct profile *p = w->profile;
	const struct func *func = &p->funcs.rows.items[id];
	_cleanup_(strbuf_release) struct strbuf row = {0};
	uint64_t name;

	if (w->functions[id])
		return w->functions[id];
	name = string_of(w, func->name);
	protobuf_u64(&row, FUNCTION_NAME, name);
	protobuf_u64(&row, FUNCTION_SYSTEM_NAME, name);
	if (func->file != NO_SOURCE_FILE)
		protobuf_u64(&row, FUNCTION_FILENAME,
			     string_of(w, p->source_files.rows.items[func->file].path));
	protobuf_u64(&row, FUNCTION_LINE, func->line);
	return w->functions[id] = add_row(w, FUNCTION_TABLE, &row);
}

static const char *frame_type(const struct profile *p, const struct frame *frame)
{
	if (frame->kind == PROFILE_FRAME_KERNEL)
		return "kernel";
	switch (frame->language) {
	case LANGUAGE_PYTHON:
		return "cpython";
	case LANGUAGE_JAVASCRIPT:
		return "v8js";
	case LANGUAGE_JAVA:
		return "jvm";
	default:
		return frame->func != NO_FUNC && p->funcs.rows.items[frame->func].is_js ? "v8js"
											: "native";
	}
}

/* The innermost function is the first line; an address without a name has none. */
static uint32_t location_of(struct otlp_dictionary *w, stack_id chain)
{
	const struct profile *p = w->profile;
	const struct stack *chains = w->locations->chains.rows.items;
	const struct frame *frame = frames_get(&p->frames, chains[chain].frame);
	_cleanup_(strbuf_release) struct strbuf row = {0}, inner = {0};

	if (w->places[chain])
		return w->places[chain];
	protobuf_u64(&row, LOCATION_MAPPING, mapping_of(w, frame->module));
	protobuf_u64(&row, LOCATION_ADDRESS,
		     modules_address(&p->modules, frame->module, frame->offset));
	for (stack_id at = chain; at != NO_STACK; at = chains[at].parent) {
		const struct frame *line = frames_get(&p->frames, chains[at].frame);

		if (line->func == NO_FUNC)
			continue;
		strbuf_reset(&inner);
		protobuf_u64(&inner, LINE_FUNCTION, function_of(w, line->func));
		protobuf_u64(&inner, LINE_LINE, line->line);
		protobuf_bytes(&row, LOCATION_LINES, inner.text, inner.size);
	}
	add_attribute(&row, LOCATION_ATTRIBUTES,
		      otlp_attribute(w, "profile.frame.type", frame_type(p, frame), 0));
	return w->places[chain] = add_row(w, LOCATION_TABLE, &row);
}

uint64_t otlp_stack(struct otlp_dictionary *w, stack_id stack)
{
	_cleanup_(strbuf_release) struct strbuf row = {0}, inner = {0};

	if (stack == NO_STACK)
		return 0;
	if (w->stacks[stack])
		return w->stacks[stack];
	for (stack_id at = stack; at != NO_STACK; at = w->locations->callers[at])
		protobuf_varint(&inner, location_of(w, w->locations->of_stacks[at]));
	protobuf_bytes(&row, STACK_LOCATIONS, inner.text, inner.size);
	return w->stacks[stack] = add_row(w, STACK_TABLE, &row);
}

void otlp_dictionary_write(struct otlp_dictionary *w, struct strbuf *out, uint32_t field)
{
	struct strbuf dictionary = {0};

	for (string_id id = 0; id < w->strings.rows.count; id++) {
		strbuf_add(&w->message, strings_get(&w->strings, id),
			   strings_size(&w->strings, id));
		emit(w, STRING_TABLE);
	}
	for (size_t i = MAPPING_TABLE; i < TABLES_END; i++)
		strbuf_add(&dictionary, strbuf_text(&w->tables[i]), w->tables[i].size);
	protobuf_bytes(out, field, dictionary.text, dictionary.size);
	strbuf_release(&dictionary);
}

void otlp_dictionary_init(struct otlp_dictionary *w, const struct profile *p,
			  const struct location_table *locations)
{
	*w = (struct otlp_dictionary){.profile = p, .locations = locations};
	otlp_text(w, "");
	strings_intern(&w->attributes, "");
	emit(w, ATTRIBUTE_TABLE);
	emit(w, STACK_TABLE);
	emit(w, LINK_TABLE);
	emit(w, MAPPING_TABLE);
	emit(w, FUNCTION_TABLE);
	emit(w, LOCATION_TABLE);
	w->stacks = xcalloc(p->stacks.rows.count + 1, sizeof(*w->stacks));
	w->mappings = xcalloc(p->modules.rows.count + 1, sizeof(*w->mappings));
	w->functions = xcalloc(p->funcs.rows.count + 1, sizeof(*w->functions));
	w->places = xcalloc(w->locations->chains.rows.count + 1, sizeof(*w->places));
}

void otlp_dictionary_release(struct otlp_dictionary *w)
{
	strings_release(&w->strings);
	strings_release(&w->attributes);
	free(w->stacks);
	free(w->mappings);
	free(w->functions);
	free(w->places);
	for (size_t i = 0; i < TABLES_END; i++)
		strbuf_release(&w->tables[i]);
	strbuf_release(&w->message);
}

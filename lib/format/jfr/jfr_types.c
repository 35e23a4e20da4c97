/* SPDX-License-Identifier: MIT */
#include "lib/format/jfr/jfr_file.h"

/* Limit for the values of all types of a chunk; hostile types nest. */
#define LEAVES_TOTAL_MAX (1u << 18)

int jfr_damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the flight recording is damaged: %s", what);
}

/* Texts. */

enum form { FORM_NULL, FORM_EMPTY, FORM_CONSTANT, FORM_UTF8, FORM_CHARS, FORM_LATIN1 };

static void skip_chars(const struct jfr_chunk *c, struct bytes *b, uint32_t count)
{
	for (uint32_t i = 0; i < count && !b->failed; i++)
		jfr_read_short(c, b);
}

struct jfr_value jfr_read_text(const struct jfr_chunk *c, struct bytes *b)
{
	struct jfr_value value = {.kind = JFR_TEXT, .form = bytes_u8(b)};

	switch (value.form) {
	case FORM_NULL:
		value.kind = JFR_NO_VALUE;
		break;
	case FORM_EMPTY:
		value.form = FORM_UTF8;
		break;
	case FORM_CONSTANT:
		value.kind = JFR_REF;
		value.type = c->string_type;
		value.number = jfr_read_long(c, b);
		break;
	case FORM_UTF8:
	case FORM_LATIN1:
	case FORM_CHARS:
		value.size = jfr_read_count(c, b);
		value.bytes = b->at;
		if (value.form == FORM_CHARS)
			skip_chars(c, b, value.size);
		else
			bytes_skip(b, value.size);
		break;
	default:
		b->failed = true;
	}
	return value;
}

/* Strings of a profile end at a NUL. */
static void add_code_point(struct strbuf *out, uint32_t point)
{
	strbuf_add_utf8(out, point ? point : 0xfffd);
}

static void add_chars(const struct jfr_chunk *c, const struct jfr_value *text, struct strbuf *out)
{
	struct bytes b;

	/* Its size was checked before: a character has up to nine bytes. */
	bytes_init(&b, text->bytes, (size_t)text->size * 9);
	for (uint32_t i = 0; i < text->size; i++) {
		uint32_t unit = (uint16_t)jfr_read_short(c, &b);

		if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < text->size) {
			struct bytes after = b;
			uint32_t low = (uint16_t)jfr_read_short(c, &after);

			if (low >= 0xdc00 && low < 0xe000) {
				unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
				b = after;
				i++;
			}
		}
		add_code_point(out, unit);
	}
}

void jfr_add_text(const struct jfr_chunk *c, const struct jfr_value *text, struct strbuf *out)
{
	if (text->kind != JFR_TEXT || !text->size)
		return;
	if (text->form == FORM_CHARS) {
		add_chars(c, text, out);
	} else if (text->form == FORM_LATIN1) {
		for (uint32_t i = 0; i < text->size; i++)
			add_code_point(out, text->bytes[i]);
	} else {
		const char *utf8 = (const char *)text->bytes;

		/* Strings of a profile end at a NUL. */
		strbuf_add(out, utf8, strnlen(utf8, text->size));
	}
}

const char *jfr_name(const struct jfr_chunk *c, string_id name)
{
	return strings_get(&c->names, name);
}

/* Types. */

INDEX_HAS(id_equal, struct jfr_chunk, types, id)

uint32_t jfr_type_of_id(const struct jfr_chunk *c, uint64_t id)
{
	return index_find(&c->type_index, hash_u64(id), id_equal, c, &id);
}

uint32_t jfr_type_find(const struct jfr_chunk *c, const char *name)
{
	string_id id = strings_find(&c->names, name, strlen(name));

	for (uint32_t row = 0; id != NO_STRING && row < c->types.count; row++) {
		if (c->types.items[row].name == id)
			return row;
	}
	return JFR_NONE;
}

static uint8_t kind_of(const char *name)
{
	static const char *const names[] = {
		[JFR_LONG] = "long",   [JFR_INT] = "int",	[JFR_SHORT] = "short",
		[JFR_CHAR] = "char",   [JFR_BYTE] = "byte",	[JFR_BOOLEAN] = "boolean",
		[JFR_FLOAT] = "float", [JFR_DOUBLE] = "double", [JFR_STRING] = "java.lang.String",
	};

	for (uint8_t kind = JFR_LONG; kind <= JFR_STRING; kind++) {
		if (strcmp(name, names[kind]) == 0)
			return kind;
	}
	return JFR_STRUCT;
}

/* The metadata: nested elements with attributes. */
struct metadata {
	struct jfr_chunk *c;
	struct bytes b;
	VEC(string_id) strings;
};

struct element {
	const char *name;
	string_id id, type_name, super, class, value, is_ref, dimension, simple;
};

static string_id metadata_string(struct metadata *m)
{
	uint32_t at = (uint32_t)jfr_read_int(m->c, &m->b);

	if (at >= m->strings.count) {
		m->b.failed = true;
		return NO_STRING;
	}
	return m->strings.items[at];
}

static void read_attributes(struct metadata *m, struct element *e)
{
	const struct {
		const char *key;
		string_id *value;
	} known[] = {
		{"id", &e->id},
		{"name", &e->type_name},
		{"superType", &e->super},
		{"class", &e->class},
		{"value", &e->value},
		{"value-0", &e->value},
		{"constantPool", &e->is_ref},
		{"dimension", &e->dimension},
		{"simpleType", &e->simple},
	};

	for (uint32_t count = jfr_read_count(m->c, &m->b); count && !m->b.failed; count--) {
		const char *key = jfr_name(m->c, metadata_string(m));
		string_id value = metadata_string(m);

		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
			if (*key == *known[i].key && strcmp(key, known[i].key) == 0)
				*known[i].value = value;
		}
	}
}

static uint64_t number_of(const struct jfr_chunk *c, string_id text)
{
	uint64_t number = 0;

	return text_to_u64(jfr_name(c, text), 10, &number) ? number : UINT64_MAX;
}

static bool is_true(const struct jfr_chunk *c, string_id text)
{
	return strcmp(jfr_name(c, text), "true") == 0;
}

static uint32_t add_type(struct jfr_chunk *c, const struct element *e)
{
	const char *super = jfr_name(c, e->super);
	struct jfr_type type = {
		.id = number_of(c, e->id),
		.name = e->type_name,
		.label = NO_STRING,
		.first_field = (uint32_t)c->fields.count,
		.kind = kind_of(jfr_name(c, e->type_name)),
		.is_event = strcmp(super, "jdk.jfr.Event") == 0,
		.is_simple = is_true(c, e->simple),
	};

	if (type.id == UINT64_MAX || jfr_type_of_id(c, type.id) != INDEX_NONE)
		return JFR_NONE;
	index_add(&c->type_index, hash_u64(type.id), (uint32_t)c->types.count);
	vec_push(&c->types, type);
	return (uint32_t)c->types.count - 1;
}

static uint32_t add_field(struct jfr_chunk *c, uint32_t type, const struct element *e)
{
	const struct jfr_field field = {
		.name = e->type_name,
		.label = NO_STRING,
		.class = number_of(c, e->class),
		.is_ref = is_true(c, e->is_ref),
		.is_array = e->dimension != NO_STRING && number_of(c, e->dimension),
	};

	vec_push(&c->fields, field);
	c->types.items[type].field_count++;
	return (uint32_t)c->fields.count - 1;
}

/* Type and field that contain an element; JFR_NONE: none. */
struct place {
	uint32_t type, field;
	unsigned int depth;
};

static void read_element(struct metadata *m, struct place place)
{
	struct element e = {NULL,      NO_STRING, NO_STRING, NO_STRING, NO_STRING,
			    NO_STRING, NO_STRING, NO_STRING, NO_STRING};
	string_id name = metadata_string(m);

	if (++place.depth > JFR_DEPTH_MAX)
		m->b.failed = true;
	e.name = jfr_name(m->c, name);
	read_attributes(m, &e);
	if (m->b.failed)
		return;
	if (strcmp(e.name, "class") == 0) {
		place.type = add_type(m->c, &e);
	} else if (strcmp(e.name, "field") == 0 && place.type != JFR_NONE) {
		place.field = add_field(m->c, place.type, &e);
	} else if (strcmp(e.name, "annotation") == 0 && place.type != JFR_NONE) {
		const struct jfr_annotation row = {number_of(m->c, e.class), place.type,
						   place.field, e.value};

		vec_push(&m->c->annotations, row);
	}
	for (uint32_t count = jfr_read_count(m->c, &m->b); count && !m->b.failed; count--)
		read_element(m, place);
}

static uint8_t scale_of(const char *value)
{
	static const struct {
		const char *name;
		uint8_t scale;
	} scales[] = {
		{"TICKS", SCALE_TICKS},
		{"NANOSECONDS", SCALE_NS},
		{"NANOSECONDS_SINCE_EPOCH", SCALE_NS},
		{"MICROSECONDS", SCALE_US},
		{"MILLISECONDS", SCALE_MS},
		{"MILLISECONDS_SINCE_EPOCH", SCALE_MS},
		{"SECONDS", SCALE_S},
		{"SECONDS_SINCE_EPOCH", SCALE_S},
		{"BITS", SCALE_BITS},
	};

	for (size_t i = 0; i < sizeof(scales) / sizeof(*scales); i++) {
		if (strcmp(value, scales[i].name) == 0)
			return scales[i].scale;
	}
	return SCALE_NONE;
}

static const char *last_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static void apply_annotation(struct jfr_chunk *c, const struct jfr_annotation *row)
{
	static const char *const units[] = {
		[JFR_TIME] = "Timestamp",	 [JFR_SPAN] = "Timespan",
		[JFR_BYTES] = "DataAmount",	 [JFR_SHARE] = "Percentage",
		[JFR_ADDRESS] = "MemoryAddress",
	};
	uint32_t at = jfr_type_of_id(c, row->class);
	const char *name = at == INDEX_NONE ? "" : last_name(jfr_name(c, c->types.items[at].name));
	struct jfr_field *field;

	if (strcmp(name, "Label") == 0) {
		if (row->field == JFR_NONE)
			c->types.items[row->type].label = row->value;
		else
			c->fields.items[row->field].label = row->value;
		return;
	}
	if (row->field == JFR_NONE)
		return;
	field = &c->fields.items[row->field];
	for (uint8_t unit = JFR_TIME; unit <= JFR_ADDRESS; unit++) {
		if (strcmp(name, units[unit]) == 0) {
			field->unit = unit;
			field->scale = scale_of(jfr_name(c, row->value));
		}
	}
}

static void read_metadata_strings(struct metadata *m)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (uint32_t count = jfr_read_count(m->c, &m->b); count && !m->b.failed; count--) {
		struct jfr_value value = jfr_read_text(m->c, &m->b);

		strbuf_reset(&text);
		if (!m->b.failed)
			jfr_add_text(m->c, &value, &text);
		vec_push(&m->strings,
			 strings_intern_sized(&m->c->names, strbuf_text(&text), text.size));
	}
}

int jfr_types_read(struct jfr_chunk *c, const struct bytes *event, struct error *err)
{
	struct metadata m = {.c = c, .b = *event};

	read_metadata_strings(&m);
	if (!m.b.failed)
		read_element(&m, (struct place){JFR_NONE, JFR_NONE, 0});
	vec_release(&m.strings);
	if (m.b.failed)
		return jfr_damaged(err, "its types end early");
	vec_for_each(&c->annotations, const struct jfr_annotation *, row)
		apply_annotation(c, row);
	c->string_type = jfr_type_find(c, "java.lang.String");
	return 0;
}

/* Leaves. */

struct flattening {
	struct jfr_chunk *c;
	struct jfr_type *type;
	struct strbuf path;
};

static bool push_leaf(struct flattening *f, const struct jfr_field *field, uint32_t type)
{
	struct jfr_leaf leaf = {
		.name = strings_intern_sized(&f->c->names, strbuf_text(&f->path), f->path.size),
		.label = field ? field->label : NO_STRING,
		.type = type,
	};

	if (field) {
		leaf.unit = field->unit;
		leaf.scale = field->scale;
		leaf.is_ref = field->is_ref;
		leaf.is_array = field->is_array;
	}
	if (f->type->leaf_count == JFR_LEAVES_MAX || f->c->leaves.count == LEAVES_TOTAL_MAX)
		return false;
	vec_push(&f->c->leaves, leaf);
	f->type->leaf_count++;
	return true;
}

/* Structs without members have neither bytes nor values. */
static bool flatten(struct flattening *f, uint32_t row, unsigned int depth)
{
	const struct jfr_type *type = &f->c->types.items[row];

	if (depth > JFR_DEPTH_MAX)
		return false;
	if (type->kind != JFR_STRUCT)
		return push_leaf(f, NULL, row);
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct jfr_field *field = &f->c->fields.items[type->first_field + i];
		uint32_t target = jfr_type_of_id(f->c, field->class);
		size_t size = f->path.size;
		bool is_good = target != INDEX_NONE;

		strbuf_addf(&f->path, "%s%s", size ? "." : "", jfr_name(f->c, field->name));
		if (is_good && !field->is_ref && !field->is_array &&
		    f->c->types.items[target].kind == JFR_STRUCT)
			is_good = flatten(f, target, depth + 1);
		else
			is_good = is_good && push_leaf(f, field, target);
		f->path.size = size;
		if (!is_good)
			return false;
	}
	return true;
}

static bool list_leaves(struct jfr_chunk *c, uint32_t row)
{
	struct jfr_type *type = &c->types.items[row];
	struct flattening f = {.c = c, .type = type};

	if (type->has_leaves)
		return !type->is_damaged;
	type->has_leaves = true;
	type->first_leaf = (uint32_t)c->leaves.count;
	/* Events state their size, so values beyond the limit can be skipped. */
	type->is_damaged = !flatten(&f, row, 0) && !(type->is_event && type->leaf_count);
	strbuf_release(&f.path);
	return !type->is_damaged;
}

/* Elements of arrays have separate leaves. */
static bool prepare(struct jfr_chunk *c, uint32_t row, unsigned int depth)
{
	bool was_ready = c->types.items[row].has_leaves;
	uint32_t first, count;

	if (depth > JFR_DEPTH_MAX || !list_leaves(c, row))
		return false;
	first = c->types.items[row].first_leaf;
	count = was_ready ? 0 : c->types.items[row].leaf_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct jfr_leaf leaf = c->leaves.items[first + i];

		if (leaf.is_array && !leaf.is_ref)
			prepare(c, leaf.type, depth + 1);
	}
	return true;
}

bool jfr_leaves(struct jfr_chunk *c, uint32_t row)
{
	return prepare(c, row, 0);
}

uint32_t jfr_leaf_find(struct jfr_chunk *c, uint32_t row, const char *name)
{
	const struct jfr_type *type;

	if (row == JFR_NONE || !jfr_leaves(c, row))
		return JFR_NONE;
	type = &c->types.items[row];
	for (uint32_t i = 0; i < type->leaf_count; i++) {
		if (strcmp(jfr_name(c, c->leaves.items[type->first_leaf + i].name), name) == 0)
			return i;
	}
	return JFR_NONE;
}

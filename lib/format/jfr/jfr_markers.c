/* SPDX-License-Identifier: MIT */
#include "lib/format/jfr/jfr_reader.h"

/* Maximum markers kept; the others are counted. */
#define MARKERS_MAX (1u << 17)

static const char *leaf_name(const struct jfr_reader *r, const struct jfr_leaf *leaf)
{
	return jfr_name(r->chunk, leaf->name);
}

/* Leave out the stack of the marker's cause, which front-ends show. */
static bool is_field(const struct event_type *type, uint32_t leaf)
{
	return leaf != type->start && leaf != type->duration && leaf != type->thread &&
	       leaf != type->stack;
}

/* Front-ends give special meanings to two keys. */
static string_id field_key(struct jfr_reader *r, const struct jfr_leaf *leaf)
{
	const char *name = leaf_name(r, leaf);
	bool is_taken = strcmp(name, "type") == 0 || strcmp(name, "cause") == 0;
	_cleanup_free_ char *key = xasprintf("%s%s", name, is_taken ? "_" : "");

	return strings_intern_line(&r->f.profile->strings, key);
}

static uint8_t field_type(const struct jfr_reader *r, const struct jfr_leaf *leaf)
{
	static const uint8_t of_units[] = {
		[JFR_PLAIN] = FIELD_INTEGER,	[JFR_TIME] = FIELD_TIME,
		[JFR_SPAN] = FIELD_DURATION,	[JFR_BYTES] = FIELD_BYTES,
		[JFR_SHARE] = FIELD_PERCENTAGE, [JFR_ADDRESS] = FIELD_STRING,
	};
	uint8_t kind = r->chunk->types.items[leaf->type].kind;

	if (leaf->is_ref || kind == JFR_STRING || kind == JFR_BOOLEAN)
		return FIELD_STRING;
	if ((kind == JFR_FLOAT || kind == JFR_DOUBLE) && leaf->unit != JFR_SHARE)
		return FIELD_STRING;
	return of_units[leaf->unit];
}

static void make_schema(struct jfr_reader *r, uint32_t row)
{
	struct profile *p = r->f.profile;
	struct event_type *type = &r->types.items[row];
	const struct jfr_type *of = &r->chunk->types.items[row];
	struct schema_field fields[SCHEMA_FIELDS_MAX] = {0};
	const char *label = jfr_name(r->chunk, of->label);
	struct schema schema = {
		.name = strings_intern_line(&p->strings, jfr_name(r->chunk, of->name)),
		.chart_label = NO_STRING,
		.table_label = NO_STRING,
		.tooltip_label = NO_STRING,
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE,
	};

	for (uint32_t i = 0; i < of->leaf_count && schema.field_count < SCHEMA_FIELDS_MAX; i++) {
		const struct jfr_leaf *leaf = &r->chunk->leaves.items[of->first_leaf + i];
		struct schema_field *field = &fields[schema.field_count];

		if (!is_field(type, i) || leaf->is_array)
			continue;
		field->key = field_key(r, leaf);
		field->label = *jfr_name(r->chunk, leaf->label)
				       ? strings_intern_line(&p->strings,
							     jfr_name(r->chunk, leaf->label))
				       : NO_STRING;
		field->type = field_type(r, leaf);
		type->leaf_of_field[schema.field_count++] = i;
	}
	if (*label)
		schema.tooltip_label = strings_intern_line(&p->strings, label);
	type->schema = schemas_intern(&p->markers.schemas, &schema, fields);
	if (type->schema == NO_SCHEMA) {
		_cleanup_free_ char *other = xasprintf("%s (%" PRIu64 ")",
						       jfr_name(r->chunk, of->name), r->chunks);

		schema.name = strings_intern_line(&p->strings, other);
		type->schema = schemas_intern(&p->markers.schemas, &schema, fields);
	}
}

/* Appends text for a constant: the name of a class, method, thread or of anything named. */
static void add_constant_text(struct jfr_reader *r, struct jfr_value ref, struct strbuf *out)
{
	const struct layout *l = &r->layout;
	struct jfr_value value = jfr_resolve(r->chunk, ref), values[JFR_LEAVES_MAX];
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const char *type;
	uint32_t row;

	if (value.kind != JFR_REF) {
		jfr_add_text(r->chunk, &value, out);
		return;
	}
	row = jfr_constant_read(r->chunk, &value, values);
	if (row == JFR_NONE)
		return;
	type = jfr_name(r->chunk, r->chunk->types.items[row].name);
	if (strcmp(type, "java.lang.Class") == 0) {
		jfr_add_class(out, jfr_class_name(r, value, &text));
	} else if (strcmp(type, "jdk.types.Method") == 0) {
		jfr_add_method(r, values,
			       jfr_class_name(r, jfr_member(values, l->method_class), &text), out);
	} else if (strcmp(type, "java.lang.Thread") == 0) {
		jfr_text_of(r, jfr_member(values, l->thread_name), out);
		if (!out->size)
			jfr_text_of(r, jfr_member(values, l->thread_os_name), out);
	} else {
		jfr_text_of(r, jfr_member(values, jfr_leaf_find(r->chunk, row, "name")), out);
	}
}

static struct marker_value marker_text(struct jfr_reader *r, const struct jfr_leaf *leaf,
				       struct jfr_value value)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (value.kind == JFR_REAL)
		strbuf_addf(&text, "%g", value.real);
	else if (value.kind == JFR_NUMBER && leaf->unit == JFR_ADDRESS)
		strbuf_addf(&text, "0x%" PRIx64, (uint64_t)value.number);
	else if (value.kind == JFR_NUMBER)
		strbuf_adds(&text, value.number ? "true" : "false");
	else if (value.kind == JFR_REF)
		add_constant_text(r, value, &text);
	else
		jfr_add_text(r->chunk, &value, &text);
	if (!text.size)
		return (struct marker_value){0};
	return marker_string(strings_intern_line(&r->f.profile->strings, text.text));
}

static struct marker_value marker_field(struct jfr_reader *r, const struct event *e, uint32_t at,
					uint8_t type)
{
	const struct jfr_type *of = &r->chunk->types.items[e->row];
	const struct jfr_leaf leaf = r->chunk->leaves.items[of->first_leaf + at];
	struct jfr_value value = e->values[at];
	struct marker_value out = {.type = type};

	if (type == FIELD_STRING)
		return marker_text(r, &leaf, value);
	if (type == FIELD_PERCENTAGE && value.kind == JFR_REAL && value.real >= 0 &&
	    value.real < 1e6)
		out.number = (uint64_t)(value.real * 1e6);
	else if (value.kind != JFR_NUMBER || (type != FIELD_INTEGER && value.number < 0) ||
		 (type == FIELD_TIME &&
		  ((uint64_t)value.number < r->base_ns || !clock_can_show((uint64_t)value.number))))
		out.type = FIELD_NONE;
	else
		out.number = (uint64_t)value.number - (type == FIELD_TIME ? r->base_ns : 0);
	return out;
}

void jfr_add_marker(struct jfr_reader *r, const struct event *e)
{
	struct profile *p = r->f.profile;
	struct marker marker;
	stack_id stack;
	uint32_t count;

	if (e->type->schema == NO_SCHEMA)
		make_schema(r, e->row);
	if (e->type->schema == NO_SCHEMA || r->markers == MARKERS_MAX) {
		r->f.counts->unread[UNREAD_MARKERS]++;
		return;
	}
	r->markers++;
	marker = markers_make(&p->markers, e->type->schema, e->start, e->end);
	count = schemas_get(&p->markers.schemas, e->type->schema)->field_count;
	for (uint32_t i = 0; i < count; i++) {
		const struct schema *schema = schemas_get(&p->markers.schemas, e->type->schema);
		uint8_t type = schema_fields(&p->markers.schemas, schema)[i].type;
		struct marker_value value = marker_field(r, e, e->type->leaf_of_field[i], type);

		*marker_value(&p->markers, &marker, i) = value;
	}
	stack = jfr_stack_of(r, e);
	if (stack != NO_STACK)
		*marker_value(&p->markers, &marker, count) = marker_stack(stack);
	vec_push(&threads_get(&p->threads, jfr_thread_of(r, e))->markers, marker);
}

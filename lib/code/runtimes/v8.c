/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/v8.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"

/* Names of tiers as the language has them. */
static const char *const tiers[V8_TIER_COUNT] = {
	[V8_TIER_UNKNOWN] = "Optimized",   [V8_TIER_INTERPRETED] = "Interpreter",
	[V8_TIER_BASELINE] = "Baseline",   [V8_TIER_MIDTIER] = "Mid-tier",
	[V8_TIER_OPTIMIZED] = "Optimized", [V8_TIER_BUILTIN] = "Builtin",
};

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	snprintf(text, size, "%u.%u", layout->v8.major, layout->v8.minor);
}

const struct runtime runtime_v8 = {
	.kind = RUNTIME_V8,
	.name = "JavaScript",
	.probe = v8_probe,
	.version = write_version,
	.decode = v8_decode,
	.read_source = v8_read_source,
	.read_inlined = v8_read_inlined,
};

static void decode_text(const struct function_text *piece, struct bytes *body, struct strbuf *text,
			struct managed_code *code)
{
	const void *data = bytes_take(body, piece->size);

	strbuf_reset(text);
	if (data)
		v8_text(piece->width, data, piece->size, text);
	if (piece->flags & FUNCTION_CUT)
		code->is_cut = true;
}

void v8_set_anonymous(struct strbuf *name)
{
	static const char anonymous[] = "(anonymous)";

	if (!name->size)
		strbuf_add(name, anonymous, sizeof(anonymous) - 1);
}

/* A module has its address in place of a path. */
void v8_cut_scheme(struct strbuf *file)
{
	static const char scheme[] = "file://";
	size_t size = sizeof(scheme) - 1;

	if (file->size <= size || memcmp(file->text, scheme, size) != 0)
		return;
	memmove(file->text, file->text + size, file->size - size + 1);
	file->size -= size;
}

void v8_decode(const struct runtime_layout *layout, const struct rec_function *function,
	       struct managed_code *code)
{
	struct bytes body;
	const void *head, *table;
	struct v8_function_head own;

	bytes_init(&body, function->body, function_body_size(function));
	code->is_cut = code->lacks_text = code->is_compiled = false;
	code->first_line = 0;
	code->start = -1;
	code->tier = tiers[V8_TIER_UNKNOWN];
	code->source = (struct managed_source){0};
	vec_clear(&code->lines);
	vec_clear(&code->places);
	decode_text(&function->name, &body, &code->name, code);
	decode_text(&function->file, &body, &code->file, code);
	v8_cut_scheme(&code->file);
	if (!(function->name.flags & FUNCTION_UNREADABLE))
		v8_set_anonymous(&code->name);
	head = bytes_take(&body, sizeof(own));
	if (!head || function->lines.size < sizeof(own))
		return;
	memcpy(&own, head, sizeof(own));
	table = bytes_take(&body, function->lines.size - sizeof(own));
	/* Other code's instructions are not those that the table is of. */
	if (table && own.tier == V8_TIER_INTERPRETED)
		v8_places(&layout->v8, table, function->lines.size - sizeof(own), function->units,
			  code);
	if (own.tier < V8_TIER_COUNT)
		code->tier = tiers[own.tier];
	code->start = own.start < -1 ? -1 : own.start;
	code->source = (struct managed_source){own.script, own.script_id, own.source_length};
	code->is_compiled = own.code;
}

/* Reads a number of 7 bits a byte, the lowest first; its lowest bit is the sign. */
static bool read_number(struct bytes *b, int64_t *value)
{
	uint64_t bits = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (!bytes_left(b))
			return false;
		byte = bytes_u8(b);
		bits |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*value = (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
			return true;
		}
	}
	return false;
}

/*
 * Each entry: how far the code went on, then the place. The former is negative if its other flag is
 * set: a statement begins there, or, in tables with that flag alone, none does.
 */
bool v8_next_position(const struct v8_layout *layout, struct bytes *table,
		      struct v8_position *position)
{
	int64_t delta;

	/* No number of a real table is that large: sums cannot overflow. */
	if (!read_number(table, &delta) || delta < -(INT64_C(1) << 32) || delta > INT64_C(1) << 32)
		return false;
	if (delta < 0)
		delta = -(delta + 1);
	if (layout->has_place_flags)
		delta >>= 1;
	position->unit += delta;
	if (!read_number(table, &delta) || delta < -(INT64_C(1) << 48) || delta > INT64_C(1) << 48)
		return false;
	position->place += delta;
	return true;
}

void v8_places(const struct v8_layout *layout, const void *table, size_t size, uint32_t units,
	       struct managed_code *code)
{
	struct v8_position position = {.unit = V8_POSITION_BEGIN};
	struct bytes b;

	bytes_init(&b, table, size);
	while (v8_next_position(layout, &b, &position) && position.unit < units &&
	       position.place >= 0) {
		uint32_t unit = position.unit < 0 ? 0 : (uint32_t)position.unit;
		int32_t place = (int32_t)(position.place >> 1 & 0x3fffffff) - 1;

		if (position.place & 1 || place < 0)
			continue;
		vec_push(&code->places, ((struct managed_place){unit, place, 0, 0}));
	}
}

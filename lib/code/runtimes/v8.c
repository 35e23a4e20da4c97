/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/v8.h"

#include "lib/code/runtimes/v8_wasm.h"

#define PIECE ((uint64_t)1 << 16)
/* Strings that make up a text. */
#define PARTS_MAX 64
#define WORDS_MAX 32

#define UPPER_HALF 0xffffffff00000000

struct v8_heap v8_heap_of(const struct v8_layout *layout, uint64_t script, uint64_t code,
			  runtime_read_fn *read, void *ctx)
{
	struct v8_heap h = {.layout = layout, .read = read, .ctx = ctx};

	if (layout->is_compressed) {
		h.cage = script & UPPER_HALF;
		h.own_cage = code ? code & UPPER_HALF : h.cage;
	}
	return h;
}

uint64_t v8_heap_own(const struct v8_heap *h, uint64_t reference)
{
	return (reference & 1) && h->layout->is_compressed ? h->own_cage | (reference & ~UPPER_HALF)
							   : reference;
}

/* Reads bytes at an offset that is the same with compressed pointers. */
static bool read_raw(const struct v8_heap *h, uint64_t reference, uint64_t offset, void *to,
		     size_t size)
{
	return (reference & 3) == 1 && h->read(h->ctx, reference - 1 + offset, to, size);
}

bool v8_heap_read(const struct v8_heap *h, uint64_t reference, uint64_t offset, void *to,
		  size_t size)
{
	return read_raw(h, reference, offset >> h->layout->is_compressed, to, size);
}

/* Takes a reference or small integer, in its uncompressed form. */
static uint64_t take_word(const struct v8_heap *h, struct bytes *b)
{
	uint32_t half;

	if (!h->layout->is_compressed)
		return bytes_u64(b);
	half = bytes_u32(b);
	return half & 1 ? h->cage | half : (uint64_t)(int32_t)half << 31;
}

bool v8_heap_words(const struct v8_heap *h, uint64_t reference, uint64_t offset, uint64_t *words,
		   size_t count)
{
	size_t size = 8 >> h->layout->is_compressed;
	uint8_t data[WORDS_MAX * 8];
	struct bytes b;

	while (count) {
		size_t now = count < WORDS_MAX ? count : WORDS_MAX;

		if (!v8_heap_read(h, reference, offset, data, now * size))
			return false;
		bytes_init(&b, data, now * size);
		for (size_t i = 0; i < now; i++)
			*words++ = take_word(h, &b);
		offset += now * 8;
		count -= now;
	}
	return true;
}

bool v8_heap_object(const struct v8_heap *h, uint64_t reference, uint64_t numbers, uint64_t *words,
		    size_t count)
{
	size_t front = numbers / 8;
	uint8_t data[WORDS_MAX * 8];
	struct bytes b;

	if (count > WORDS_MAX || front > count || !v8_heap_words(h, reference, 0, words, front) ||
	    !v8_heap_read(h, reference, numbers, data, (count - front) * 8))
		return false;
	bytes_init(&b, data, (count - front) * 8);
	for (size_t i = front; i < count; i++)
		words[i] = bytes_u64(&b);
	return true;
}

static bool v8_heap_type(const struct v8_heap *h, uint64_t reference, uint16_t *type)
{
	uint8_t data[2];
	struct bytes b;
	uint64_t map;

	if (!v8_heap_words(h, reference, 0, &map, 1) ||
	    !read_raw(h, map, h->layout->map_type, data, sizeof(data)))
		return false;
	bytes_init(&b, data, sizeof(data));
	*type = bytes_u16(&b);
	return true;
}

bool v8_heap_is(const struct v8_heap *h, uint64_t reference, enum v8_type type)
{
	uint16_t found;

	return v8_heap_type(h, reference, &found) && found == h->layout->types[type];
}

enum {
	FLAT = 0,
	CONS = 1,
	EXTERNAL = 2,
	SLICED = 3,
	THIN = 5,
	KIND = 7,
	ONE_BYTE = 8,
	UNCACHED = 16,
};

struct part {
	uint64_t string, skipped;
	uint64_t length; /* 0: the whole string */
};

struct text_reader {
	const struct v8_heap *heap;
	uint64_t left; /* bytes left to read */
	v8_take_text_fn *take;
	void *ctx;
};

/* A string in memory. */
struct string {
	uint16_t type;
	uint64_t length, first, second; /* the length, and the words after it */
};

/* Returns the difference between offsets in strings and those without compression. */
static uint64_t compressed_bytes(const struct v8_heap *h)
{
	return h->layout->is_compressed ? 4 : 0;
}

uint32_t v8_heap_length(const struct v8_heap *h, uint64_t string)
{
	uint8_t data[4];
	struct bytes b;

	if (!read_raw(h, string, V8_STRING_LENGTH - compressed_bytes(h), data, sizeof(data)))
		return 0;
	bytes_init(&b, data, sizeof(data));
	return bytes_u32(&b);
}

static bool read_string(const struct text_reader *r, uint64_t reference, struct string *s)
{
	const struct v8_heap *h = r->heap;
	uint8_t data[16];
	bool is_external;
	size_t size;
	struct bytes b;

	if (!v8_heap_type(h, reference, &s->type) || s->type >= h->layout->string_end)
		return false;
	/* External strings have two addresses, not references. */
	is_external = (s->type & KIND) == EXTERNAL;
	size = is_external || !h->layout->is_compressed ? 16 : 8;
	s->length = v8_heap_length(h, reference);
	if (!read_raw(h, reference, V8_STRING_FIRST - compressed_bytes(h), data, size))
		return false;
	bytes_init(&b, data, size);
	s->first = is_external ? bytes_u64(&b) : take_word(h, &b);
	s->second = is_external ? bytes_u64(&b) : take_word(h, &b);
	return true;
}

static bool read_characters(struct text_reader *r, uint64_t addr, unsigned int width,
			    uint64_t length)
{
	uint64_t size = length * width, room = size < PIECE ? size : PIECE;
	_cleanup_free_ uint8_t *piece = NULL;

	if (size > r->left)
		return false;
	piece = xmalloc(room + 1);
	r->left -= size;
	while (size) {
		uint64_t now = size < PIECE ? size : PIECE;

		if (!r->heap->read(r->heap->ctx, addr, piece, now))
			return false;
		r->take(r->ctx, width, piece, now);
		addr += now;
		size -= now;
	}
	return true;
}

/* Reads a part, or replaces it by the parts it consists of. Returns false if it cannot be read. */
static bool read_part(struct text_reader *r, struct part *parts, size_t *count)
{
	struct part part = parts[--*count];
	struct string s;
	unsigned int width;

	if (!read_string(r, part.string, &s))
		return false;
	if (!part.length)
		part.length = s.length;
	width = s.type & ONE_BYTE ? 1 : 2;
	part.skipped &= UINT32_MAX;
	switch (s.type & KIND) {
	case FLAT:
		return read_characters(r,
				       part.string - 1 + V8_STRING_TEXT -
					       compressed_bytes(r->heap) + part.skipped * width,
				       width, part.length);
	case EXTERNAL:
		return !(s.type & UNCACHED) &&
		       read_characters(r, s.second + part.skipped * width, width, part.length);
	case THIN:
		parts[(*count)++] = (struct part){s.first, part.skipped, part.length};
		return true;
	case SLICED:
		parts[(*count)++] = (struct part){s.first, part.skipped + (s.second >> 32),
						  part.length};
		return true;
	case CONS:
		/* Only flat strings have slices. */
		if (part.skipped || part.length != s.length || *count + 2 > PARTS_MAX)
			return false;
		parts[(*count)++] = (struct part){.string = s.second};
		parts[(*count)++] = (struct part){.string = s.first};
		return true;
	}
	return false;
}

bool v8_heap_string(const struct v8_heap *h, uint64_t reference, uint64_t max,
		    v8_take_text_fn *take, void *ctx)
{
	struct text_reader r = {.heap = h, .left = max, .take = take, .ctx = ctx};
	struct part parts[PARTS_MAX] = {{.string = reference}};
	size_t count = 1, hops = 0;
	bool is_read = true;

	while (is_read && count)
		is_read = ++hops < 4 * PARTS_MAX && read_part(&r, parts, &count);
	return is_read;
}

#define REPLACEMENT 0xfffd

static bool is_surrogate(uint32_t c, uint32_t first)
{
	return c >= first && c < first + 0x400;
}

static void add_character(struct strbuf *text, uint32_t c)
{
	char out[4];
	size_t size = 0;

	if (!c || (c >= 0xd800 && c < 0xe000))
		c = REPLACEMENT;
	if (c < 0x80) {
		out[size++] = (char)c;
	} else {
		unsigned int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

		out[size++] = (char)((0xff00u >> (more + 1) & 0xff) | c >> 6 * more);
		while (more--)
			out[size++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	}
	strbuf_add(text, out, size);
}

void v8_text(unsigned int width, const void *data, size_t size, struct strbuf *text)
{
	struct bytes b;
	uint32_t high = 0;

	if (width != 1 && width != 2)
		return;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= width) {
		uint32_t c = width == 1 ? bytes_u8(&b) : bytes_u16(&b);

		if (high && is_surrogate(c, 0xdc00)) {
			c = 0x10000 + ((high - 0xd800) << 10 | (c - 0xdc00));
			high = 0;
		}
		if (high)
			add_character(text, high);
		high = is_surrogate(c, 0xd800) ? c : 0;
		if (!high)
			add_character(text, c);
	}
	if (high)
		add_character(text, high);
}

/* Reads the text of a script from the process. */

#define SOURCE_MAX ((uint64_t)1 << 24) /* maximum bytes; a longer text has no lines */
/* A collection may move texts while they are read. */
#define TRIES 2

/* Finds the text of the script, which may move. Returns false if the script no longer exists. */
static bool find_text(const struct v8_heap *h, const struct managed_source *source, uint64_t *text)
{
	uint64_t id;

	return v8_heap_is(h, source->object, V8_SCRIPT) &&
	       v8_heap_words(h, source->object, h->layout->script_id, &id, 1) &&
	       id == (uint64_t)source->id << 32 &&
	       v8_heap_words(h, source->object, h->layout->script_source, text, 1);
}

static void take_text(void *ctx, unsigned int width, const void *text, size_t size)
{
	line_starts_add(ctx, width, text, size);
}

bool v8_read_source(const struct runtime_layout *layout, const struct managed_source *source,
		    runtime_read_fn *read, void *ctx, struct line_starts *lines)
{
	const struct v8_heap h = v8_heap_of(&layout->v8, source->object, 0, read, ctx);
	uint64_t text, again;

	for (int i = 0; i < TRIES; i++) {
		/* Trust the text if the script is unchanged after reading. */
		if (find_text(&h, source, &text) &&
		    v8_heap_string(&h, text, SOURCE_MAX, take_text, lines) &&
		    find_text(&h, source, &again) && text == again)
			return true;
		line_starts_release(lines);
	}
	return false;
}

/* Names of tiers as used by the language. */
static const char *const tiers[V8_TIER_COUNT] = {
	[V8_TIER_UNKNOWN] = "Optimized",   [V8_TIER_INTERPRETED] = "Interpreter",
	[V8_TIER_BASELINE] = "Baseline",   [V8_TIER_MIDTIER] = "Mid-tier",
	[V8_TIER_OPTIMIZED] = "Optimized", [V8_TIER_BUILTIN] = "Builtin",
};

static void write_version(const struct runtime_layout *layout, char *text, size_t size)
{
	snprintf(text, size, "%u.%u", layout->v8.major, layout->v8.minor);
}

static bool is_sane(const struct runtime_layout *layout)
{
	return v8_layout_is_sane(&layout->v8);
}

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

/* A module's name is a URL instead of a path. */
void v8_cut_scheme(struct strbuf *file)
{
	static const char scheme[] = "file://";
	size_t size = sizeof(scheme) - 1;

	if (file->size <= size || memcmp(file->text, scheme, size) != 0)
		return;
	memmove(file->text, file->text + size, file->size - size + 1);
	file->size -= size;
}

/* An exported function of WebAssembly has its number as name, and no script: its code calls it. */
static bool is_exported(const struct strbuf *name, uint64_t script)
{
	return name->size && !script && strspn(name->text, "0123456789") == name->size;
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	struct bytes body;
	const void *head, *table;
	struct v8_function_head own;

	bytes_init(&body, function->body, function_body_size(function));
	code->is_cut = code->lacks_text = code->is_compiled = code->hides_inlined = false;
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
	if (is_exported(&code->name, own.script)) {
		strbuf_reset(&code->name);
		strbuf_adds(&code->name, "js-to-wasm");
	}
	table = bytes_take(&body, function->lines.size - sizeof(own));
	/* The table describes the bytecode, not the instructions of compiled code. */
	if (table && own.tier == V8_TIER_INTERPRETED)
		v8_places(&layout->v8, table, function->lines.size - sizeof(own), function->units,
			  code);
	if (own.tier < V8_TIER_COUNT)
		code->tier = tiers[own.tier];
	code->start = own.start < -1 ? -1 : own.start;
	code->source = (struct managed_source){own.script, own.script_id, own.source_length};
	code->is_compiled = own.code;
}

/* Reads a number of 7 bits per byte, lowest first; its lowest bit is the sign. */
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
 * Each entry has the code's advance, then the position. The advance is negative if the other flag
 * is set: a statement begins there or, in tables with only that flag, none does.
 */
bool v8_next_position(const struct v8_layout *layout, struct bytes *table,
		      struct v8_position *position)
{
	int64_t delta;

	/* Real tables have no number that large: sums cannot overflow. */
	if (!read_number(table, &delta) || delta < -(INT64_C(1) << 32) || delta > INT64_C(1) << 32)
		return false;
	if (delta < 0)
		delta = -(delta + 1);
	delta >>= layout->place_flags & 7;
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

const struct runtime runtime_v8 = {
	.kind = RUNTIME_V8,
	.name = "JavaScript",
	.probe = v8_probe,
	.is_sane = is_sane,
	.version = write_version,
	.decode = decode,
	.read_source = v8_read_source,
	.read_inlined = v8_read_inlined,
	.find_regexp = v8_find_regexp,
	.name_regexp = v8_name_regexp,
	.wasm = &v8_wasm_engine,
};

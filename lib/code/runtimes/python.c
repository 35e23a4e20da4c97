/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/python.h"

#include "bpf/runtime_identity.h"
#include "lib/base/bytes.h"

#define REPLACEMENT 0xfffd

static void add_character(struct strbuf *text, uint32_t c)
{
	/*
	 * A surrogate stands for a byte of a file name that is not UTF-8; it is replaced as well.
	 */
	strbuf_add_utf8(text, c && c <= 0x10ffff ? c : REPLACEMENT);
}

void python_text(unsigned int width, const void *data, size_t size, struct strbuf *text)
{
	struct bytes b;

	if (width != 1 && width != 2 && width != 4)
		return;
	bytes_init(&b, data, size);
	while (bytes_left(&b) >= width)
		add_character(text, width == 1	 ? bytes_u8(&b)
				    : width == 2 ? bytes_u16(&b)
						 : bytes_u32(&b));
}

/*
 * The three line tables of CPython: co_lnotab until 3.9, co_linetable of 3.10
 * (Objects/lnotab_notes.txt in its source), the location table from 3.11 on
 * (InternalDocs/code_objects.md).
 */

struct line_rows {
	struct managed_code *code;
	uint32_t units; /* of the function: rows beyond its end are dropped */
	uint32_t first_line;
};

/* Lines of hostile tables may be anything. */
static uint32_t line_number(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/*
 * Adds a line that begins at a unit, which never decreases. The instructions that enter the
 * function may have no line; they get that of the definition.
 */
static void add_row(const struct line_rows *rows, uint64_t unit, int64_t line)
{
	struct managed_line row = {.unit = (uint32_t)unit, .line = line_number(line)};
	struct managed_code *code = rows->code;

	if (!unit && !row.line)
		row.line = rows->first_line;
	if (unit >= rows->units)
		return;
	/* The last row of a unit wins. */
	if (code->lines.count && vec_last(&code->lines).unit == row.unit)
		code->lines.count--;
	if (!code->lines.count || vec_last(&code->lines).line != row.line)
		vec_push(&code->lines, row);
}

/*
 * Reads pairs: bytes of code, then line increment. In 2.7, increments have no sign, and
 * instructions have one byte or three: a line begins in the unit of its first byte.
 */
static void read_lnotab(const struct line_rows *rows, struct bytes *b, int64_t line, bool is_old)
{
	uint64_t at = 0;

	add_row(rows, 0, line);
	while (bytes_left(b) >= 2) {
		uint8_t delta;

		at += bytes_u8(b);
		delta = bytes_u8(b);
		line += is_old ? delta : (int8_t)delta;
		add_row(rows, (at + (is_old ? 0 : PYTHON_UNIT - 1)) / PYTHON_UNIT, line);
	}
}

#define LINETABLE_NONE -128

/* Reads pairs: bytes of code, and the line increment that applies to them. */
static void read_linetable(const struct line_rows *rows, struct bytes *b, int64_t line)
{
	uint64_t at = 0;

	while (bytes_left(b) >= 2) {
		uint8_t size = bytes_u8(b);
		int8_t delta = (int8_t)bytes_u8(b);

		if (delta != LINETABLE_NONE)
			line += delta;
		if (size)
			add_row(rows, at / PYTHON_UNIT, delta == LINETABLE_NONE ? 0 : line);
		at += size;
	}
}

/* Reads a number of six bits per byte, lowest first. */
static uint64_t read_varint(struct bytes *b)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = bytes_u8(b);
		if (shift < 60)
			value |= (uint64_t)(byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return value;
}

static int64_t read_signed_varint(struct bytes *b)
{
	uint64_t value = read_varint(b);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Kinds of entries; those below LOCATION_ONE_LINE are short. */
enum {
	LOCATION_ONE_LINE = 10, /* 10 to 12: the line advances by 0 to 2 */
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

/* Returns the line increment; skips columns and ends. */
static int64_t read_location(struct bytes *b, unsigned int kind)
{
	int64_t delta;

	switch (kind) {
	case LOCATION_NONE:
		return 0;
	case LOCATION_LONG:
		delta = read_signed_varint(b);
		for (int i = 0; i < 3; i++)
			read_varint(b);
		return delta;
	case LOCATION_NO_COLUMNS:
		return read_signed_varint(b);
	default:
		if (kind < LOCATION_ONE_LINE) {
			bytes_skip(b, 1);
			return 0;
		}
		bytes_skip(b, 2);
		return kind - LOCATION_ONE_LINE;
	}
}

static void read_locations(const struct line_rows *rows, struct bytes *b, int64_t line)
{
	uint64_t unit = 0;

	while (bytes_left(b)) {
		uint8_t first = bytes_u8(b);
		unsigned int kind = first >> 3 & 15;
		int64_t delta;

		/* Only the first byte of an entry has the highest bit set. */
		if (!(first & 0x80))
			return;
		delta = read_location(b, kind);
		if (b->failed || __builtin_add_overflow(line, delta, &line))
			return;
		add_row(rows, unit, kind == LOCATION_NONE ? 0 : line);
		unit += (first & 7) + 1;
	}
}

void python_lines(uint16_t version, const void *table, size_t size, uint32_t first_line,
		  uint32_t units, struct managed_code *code)
{
	const struct line_rows rows = {
		.code = code, .units = units, .first_line = line_number(first_line)};
	struct bytes b;

	vec_clear(&code->lines);
	bytes_init(&b, table, size);
	if (version >= PYTHON_VERSION(11))
		read_locations(&rows, &b, first_line);
	else if (version == PYTHON_VERSION(10))
		read_linetable(&rows, &b, first_line);
	else
		read_lnotab(&rows, &b, first_line, version < PYTHON_VERSION(0));
}

/* Maximum bytes of a string and of a line table read afterwards. */
#define LATE_TEXT_MAX 16384
#define LATE_LINES_MAX (1u << 20)

static bool is_sane(const struct runtime_layout *layout)
{
	return python_layout_is_sane(&layout->python);
}

static bool is_whole(const struct function_text *text)
{
	return text->width && !(text->flags & (FUNCTION_CUT | FUNCTION_UNREADABLE));
}

static void decode_text(const struct function_text *piece, struct bytes *body, struct strbuf *text,
			struct managed_code *code)
{
	const void *data = bytes_take(body, piece->size);

	strbuf_reset(text);
	if (!data || !piece->width || piece->flags & FUNCTION_UNREADABLE) {
		code->lacks_text = true;
		return;
	}
	python_text(piece->width, data, piece->size, text);
	if (piece->flags & FUNCTION_CUT)
		code->is_cut = code->lacks_text = true;
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	struct bytes body;
	const void *lines;

	bytes_init(&body, function->body, function_body_size(function));
	code->first_line = function->first_line <= INT32_MAX ? function->first_line : 0;
	code->is_cut = code->lacks_text = false;
	decode_text(&function->name, &body, &code->name, code);
	decode_text(&function->file, &body, &code->file, code);
	lines = bytes_take(&body, function->lines.size);
	vec_clear(&code->lines);
	if (lines && is_whole(&function->lines))
		python_lines(layout->python.version, lines, function->lines.size, code->first_line,
			     function->units, code);
	else
		code->lacks_text = true;
}

struct reader {
	const struct python_layout *layout;
	runtime_read_fn *read;
	void *ctx;
};

static uint64_t u64_at(const uint8_t *data, size_t size, uint16_t offset)
{
	struct bytes b;

	bytes_init(&b, data, size);
	bytes_seek(&b, offset);
	return bytes_u64(&b);
}

static bool read_u64(const struct reader *r, uint64_t addr, uint64_t *value)
{
	uint8_t bytes[8];

	if (!r->read(r->ctx, addr, bytes, sizeof(bytes)))
		return false;
	*value = u64_at(bytes, sizeof(bytes), 0);
	return true;
}

/* A str in memory. */
struct string_head {
	uint64_t text; /* address */
	uint64_t length; /* characters */
	unsigned int width;
};

#define STATE_KIND 7u
#define STATE_COMPACT (1u << 3) /* bit after the kind */
#define STATE_ASCII (1u << 4)

static bool read_string_head(const struct reader *r, uint64_t addr, struct string_head *head)
{
	const struct python_layout *l = r->layout;
	uint8_t word[4];
	struct bytes b;
	uint32_t state;

	if (!read_u64(r, addr + l->string_length, &head->length) ||
	    !r->read(r->ctx, addr + l->string_state, word, sizeof(word)))
		return false;
	bytes_init(&b, word, sizeof(word));
	state = l->string_form ? l->string_form : bytes_u32(&b) >> (l->string_kind_shift & 31);
	head->width = state & STATE_KIND;
	head->text = addr + (state & STATE_ASCII ? l->string_ascii : l->string_other);
	return state & STATE_COMPACT && (head->width == 1 || head->width == 2 || head->width == 4);
}

/* Hashes the name of a file, for identities; 0: unreadable. */
static uint64_t hash_file(const struct reader *r, uint64_t file)
{
	uint64_t sum, text[IDENTITY_TEXT_MAX / 8] = {0};
	struct string_head head;
	size_t size = IDENTITY_TEXT_MAX;

	if (!read_string_head(r, file, &head))
		return 0;
	if (head.length < IDENTITY_TEXT_MAX / head.width)
		size = head.length * head.width;
	if (!r->read(r->ctx, head.text, text, size))
		return 0;
	sum = runtime_identity_add(0, head.length);
	for (size_t i = 0; i < IDENTITY_TEXT_MAX / 8; i++)
		sum = runtime_identity_add(sum, text[i]);
	return sum;
}

/*
 * Returns whether the code object in `object` has that identity, see bpf/runtime_identity.h. The
 * kernel may have failed to read the name of its file.
 */
static bool has_identity(const struct reader *r, const uint8_t *object, uint64_t identity)
{
	const struct python_layout *l = r->layout;
	uint64_t sum = RUNTIME_IDENTITY_SEED, file;

	for (unsigned int i = 2; i < PYTHON_CODE_WORDS; i++) {
		uint64_t word = i < l->code_size / 8u
					? u64_at(object, l->code_size, (uint16_t)(8 * i))
					: 0;

		sum = runtime_identity_add(sum, word & l->code_identity[i]);
	}
	if (!l->has_file_check)
		return sum == identity;
	file = hash_file(r, u64_at(object, l->code_size, l->code_file));
	return runtime_identity_add(sum, file) == identity ||
	       runtime_identity_add(sum, 0) == identity;
}

static bool read_text(const struct reader *r, uint64_t addr, struct strbuf *text, bool *is_cut)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct string_head head;
	size_t size;

	if (!read_string_head(r, addr, &head))
		return false;
	*is_cut |= head.length > LATE_TEXT_MAX / head.width;
	size = head.length > LATE_TEXT_MAX / head.width ? LATE_TEXT_MAX : head.length * head.width;
	data = xmalloc(size + 1);
	if (!r->read(r->ctx, head.text, data, size))
		return false;
	python_text(head.width, data, size, text);
	return true;
}

static bool read_lines(const struct reader *r, uint64_t addr, uint32_t units,
		       struct managed_code *code)
{
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t size;

	if (!read_u64(r, addr + r->layout->bytes_size, &size) || size > LATE_LINES_MAX)
		return false;
	data = xmalloc(size + 1);
	if (!r->read(r->ctx, addr + r->layout->bytes_text, data, size))
		return false;
	python_lines(r->layout->version, data, size, code->first_line, units, code);
	return true;
}

static bool read_code(const struct reader *r, const struct rec_function *function,
		      const uint8_t *object, struct managed_code *code)
{
	const struct python_layout *l = r->layout;
	uint8_t again[PYTHON_CODE_WORDS * 8];

	code->first_line = function->first_line <= INT32_MAX ? function->first_line : 0;
	if (!read_text(r, u64_at(object, l->code_size, l->code_name), &code->name, &code->is_cut) ||
	    !read_text(r, u64_at(object, l->code_size, l->code_file), &code->file, &code->is_cut) ||
	    !read_lines(r, u64_at(object, l->code_size, l->code_lines), function->units, code))
		return false;
	/* Trust the data if the object is unchanged after reading. */
	return r->read(r->ctx, function->code, again, l->code_size) &&
	       has_identity(r, again, function->identity);
}

static bool late(const struct runtime_layout *layout, const struct rec_function *function,
		 runtime_read_fn *read, void *ctx, struct managed_code *code)
{
	const struct reader r = {.layout = &layout->python, .read = read, .ctx = ctx};
	uint8_t object[PYTHON_CODE_WORDS * 8];
	struct managed_code found = {0};

	if (layout->python.code_size > sizeof(object) ||
	    !read(ctx, function->code, object, layout->python.code_size) ||
	    !has_identity(&r, object, function->identity) ||
	    !read_code(&r, function, object, &found)) {
		managed_code_release(&found);
		return false;
	}
	managed_code_release(code);
	*code = found;
	return true;
}

/*
 * Names of threads: the module "threading" has a dict of its running threads, `_active`, and each
 * of them its name and the kernel's id of the thread as attributes. Layouts of dicts and of the
 * attributes of instances are those of release builds.
 */

/* PyObject, PyTypeObject, PyHeapTypeObject, PyModuleObject, PyDictObject, PyLongObject */
#define OBJECT_TYPE 8
#define TYPE_INSTANCE_SIZE 32
#define TYPE_DICT_OFFSET 288
#define MODULE_DICT 16
#define DICT_KEYS 32
#define DICT_VALUES 40
#define NUMBER_SIZE 16
#define NUMBER_DIGITS 24
#define DIGIT_BITS 30
/* Words before an instance, from 3.11 on. */
#define BEFORE_DICT 24
#define BEFORE_VALUES 32 /* 3.11 */

#define MODULES_MAX 16384
#define ATTRIBUTES_MAX 128
#define INTERPRETERS_MAX 64
#define THREAD_NAMES_MAX 1024
#define DICT_OFFSET_MAX 4096

/* The entries of a dict, or the attributes of an instance. */
struct table {
	uint64_t entries, count;
	uint32_t stride, key, value; /* bytes of an entry; positions in it */
	uint64_t values; /* an array apart from the entries; 0: none */
};

/* Tables of keys: the hash table of their numbers, of any width, precedes the entries. */

static bool open_old_keys(const struct reader *r, uint64_t keys, struct table *t)
{
	uint64_t slots;

	if (!read_u64(r, keys + 8, &slots) || !read_u64(r, keys + 32, &t->count) ||
	    slots > UINT32_MAX)
		return false;
	t->entries = keys + 40 + slots * (slots <= UINT8_MAX ? 1 : slots <= UINT16_MAX ? 2 : 4);
	t->stride = 24;
	t->key = 8;
	t->value = 16;
	return true;
}

static bool open_new_keys(const struct reader *r, uint64_t keys, struct table *t)
{
	uint64_t forms;
	uint8_t bits;

	if (!read_u64(r, keys + 8, &forms) || !read_u64(r, keys + 24, &t->count))
		return false;
	bits = forms >> 8 & UINT8_MAX;
	if (bits >= 40)
		return false;
	t->entries = keys + 32 + (1ull << bits);
	/* Keys of any type have their hash before them. */
	t->key = forms >> 16 & UINT8_MAX ? 0 : 8;
	t->value = t->key + 8;
	t->stride = t->key + 16;
	return true;
}

static bool open_keys(const struct reader *r, uint64_t keys, struct table *t)
{
	return r->layout->version >= PYTHON_VERSION(11) ? open_new_keys(r, keys, t)
							: open_old_keys(r, keys, t);
}

/* Returns the position of the first value in an array of values. */
static uint64_t values_head(const struct reader *r)
{
	return r->layout->version >= PYTHON_VERSION(13) ? 8 : 0;
}

static bool open_dict(const struct reader *r, uint64_t dict, struct table *t)
{
	uint64_t keys;

	*t = (struct table){0};
	if (!dict || !read_u64(r, dict + DICT_KEYS, &keys) ||
	    !read_u64(r, dict + DICT_VALUES, &t->values))
		return false;
	if (t->values)
		t->values += values_head(r);
	return open_keys(r, keys, t);
}

/* The keys are those of the type. */
static bool open_values(const struct reader *r, uint64_t type, uint64_t values, struct table *t)
{
	uint16_t version = r->layout->version;
	uint64_t keys, at = version >= PYTHON_VERSION(15)   ? 888
			    : version >= PYTHON_VERSION(12) ? 880
							    : 872;

	*t = (struct table){.values = values};
	return read_u64(r, type + at, &keys) && open_keys(r, keys, t);
}

/* The attributes of an instance are in a dict, or in an array until something asks for the dict. */
static bool open_attributes(const struct reader *r, uint64_t object, struct table *t)
{
	uint64_t type, offset, word;

	if (!read_u64(r, object + OBJECT_TYPE, &type))
		return false;
	if (r->layout->version < PYTHON_VERSION(11))
		return read_u64(r, type + TYPE_DICT_OFFSET, &offset) && offset &&
		       offset < DICT_OFFSET_MAX && read_u64(r, object + offset, &word) &&
		       open_dict(r, word, t);
	if (!read_u64(r, object - BEFORE_DICT, &word))
		return false;
	if (r->layout->version == PYTHON_VERSION(12) && word & 1)
		return open_values(r, type, word + 1, t);
	if (word)
		return open_dict(r, word, t);
	if (r->layout->version == PYTHON_VERSION(11))
		return read_u64(r, object - BEFORE_VALUES, &word) && word &&
		       open_values(r, type, word, t);
	return r->layout->version >= PYTHON_VERSION(13) &&
	       read_u64(r, type + TYPE_INSTANCE_SIZE, &offset) &&
	       open_values(r, type, object + offset + values_head(r), t);
}

/* Reads an entry; a value of 0 means that it is unused. */
static bool read_entry(const struct reader *r, const struct table *t, uint64_t i, uint64_t *key,
		       uint64_t *value)
{
	uint64_t entry = t->entries + i * t->stride;

	return read_u64(r, entry + t->key, key) &&
	       read_u64(r, t->values ? t->values + 8 * i : entry + t->value, value);
}

static bool is_text(const struct reader *r, uint64_t object, const char *wanted)
{
	size_t size = strlen(wanted);
	struct string_head head;
	char text[16];

	return object && size <= sizeof(text) && read_string_head(r, object, &head) &&
	       head.width == 1 && head.length == size && r->read(r->ctx, head.text, text, size) &&
	       memcmp(text, wanted, size) == 0;
}

/* Returns the value of a key; 0: there is none. */
static uint64_t find_value(const struct reader *r, const struct table *t, uint64_t max,
			   const char *wanted)
{
	uint64_t key, value;

	for (uint64_t i = 0; i < t->count && i < max && read_entry(r, t, i, &key, &value); i++) {
		if (value && is_text(r, key, wanted))
			return value;
	}
	return 0;
}

/* Returns the dict of running threads in the main interpreter, the last of the list; 0: none. */
static uint64_t find_active(const struct reader *r, uint64_t runtime)
{
	uint64_t next, interpreter = 0, dict;
	struct table table;

	if (!r->layout->modules || !read_u64(r, runtime + r->layout->interpreters, &next))
		return 0;
	for (int i = 0; next && i < INTERPRETERS_MAX; i++) {
		interpreter = next;
		if (!read_u64(r, interpreter + r->layout->interpreter_next, &next))
			return 0;
	}
	if (!interpreter || !read_u64(r, interpreter + r->layout->modules, &dict) ||
	    !open_dict(r, dict, &table))
		return 0;
	dict = find_value(r, &table, MODULES_MAX, "threading");
	if (!dict || !read_u64(r, dict + MODULE_DICT, &dict) || !open_dict(r, dict, &table))
		return 0;
	return find_value(r, &table, MODULES_MAX, "_active");
}

/* Reads an int of one digit; 0: not such an int. */
static uint32_t read_number(const struct reader *r, uint64_t object)
{
	uint64_t size, digits;

	if (!object || !read_u64(r, object + NUMBER_SIZE, &size) ||
	    !read_u64(r, object + NUMBER_DIGITS, &digits))
		return 0;
	/* From 3.12 on, three bits below the count hold the sign and the immortal flag. */
	if (r->layout->version >= PYTHON_VERSION(12))
		size = size & 3 ? 0 : size >> 3;
	if (size != 1)
		return 0;
	return (uint32_t)digits & ((1u << DIGIT_BITS) - 1);
}

static void read_thread(const struct reader *r, uint64_t object, runtime_thread_fn *fn, void *ctx)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	struct table table;
	bool is_cut = false;
	uint32_t tid;

	if (!open_attributes(r, object, &table))
		return;
	tid = read_number(r, find_value(r, &table, ATTRIBUTES_MAX, "_native_id"));
	if (tid && read_text(r, find_value(r, &table, ATTRIBUTES_MAX, "_name"), &name, &is_cut) &&
	    name.size)
		fn(ctx, tid, &name);
}

void python_threads(const struct runtime_layout *layout, uint64_t bias, uint64_t *list,
		    runtime_read_fn *read, void *read_ctx, runtime_thread_fn *fn, void *ctx)
{
	const struct reader r = {.layout = &layout->python, .read = read, .ctx = read_ctx};
	struct table table;
	uint64_t key, thread;

	if (!*list)
		*list = find_active(&r, layout->python.runtime + bias);
	if (!open_dict(&r, *list, &table)) {
		*list = 0;
		return;
	}
	for (uint64_t i = 0; i < table.count && i < THREAD_NAMES_MAX; i++) {
		if (!read_entry(&r, &table, i, &key, &thread))
			return;
		if (thread)
			read_thread(&r, thread, fn, ctx);
	}
}

const struct runtime runtime_python = {
	.kind = RUNTIME_PYTHON,
	.name = "Python",
	.probe = python_probe,
	.is_sane = is_sane,
	.version_at = offsetof(struct runtime_layout, python.version),
	.decode = decode,
	.late = late,
	.read_threads = python_threads,
};

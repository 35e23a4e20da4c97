/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lib/base/json/cursor.h"
#include "lib/format/format.h"

/*
 * The parts of a JSLB file ("JSON slabs"): columns of numbers as in memory, and JSON in which
 * {"$s": 3} stands for the third of them. All numbers are little-endian.
 */

#define JSLB_MAGIC "\xdc\xdfJSLB\x01"
#define JSLB_MAGIC_SIZE 8 /* including the terminating NUL */
#define JSLB_VERSION 1

enum jslb_type {
	JSLB_I8,
	JSLB_U8,
	JSLB_I16,
	JSLB_U16,
	JSLB_I32,
	JSLB_U32,
	JSLB_F32,
	JSLB_F64,
	JSLB_I64,
	JSLB_U64,
	JSLB_JSON,
};

struct jslb_head {
	char magic[JSLB_MAGIC_SIZE];
	uint32_t version, slab_count, root; /* root: the slab with JSON */
};

struct jslb_slab {
	uint32_t type, offset, bytes;
};

/* Maximum nesting of JSON slabs. */
#define DEPTH_MAX 16
/* Maximum text per byte of the file: "-128," and ten references to a slab. */
#define GROWTH_MAX 64

struct slabs {
	const char *file;
	size_t size;
	struct jslb_head head;
	struct strbuf text; /* decompressed text */
	size_t text_max;
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the JSLB file is damaged: %s", what);
}

static size_t size_of(uint32_t type)
{
	static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 1};

	return type < sizeof(sizes) ? sizes[type] : 0;
}

static bool find_slab(const struct slabs *s, uint64_t number, struct jslb_slab *slab)
{
	if (number >= s->head.slab_count)
		return false;
	memcpy(slab, s->file + sizeof(s->head) + number * sizeof(*slab), sizeof(*slab));
	return size_of(slab->type) && slab->offset <= s->size &&
	       slab->bytes <= s->size - slab->offset && slab->bytes % size_of(slab->type) == 0;
}

static void add_real(struct strbuf *out, double number)
{
	if (isfinite(number))
		strbuf_addf(out, "%.15g", number);
	else
		strbuf_adds(out, "null");
}

/* Writes a number as JSON. */
static void jslb_read_add_number(struct strbuf *out, uint32_t type, const char *at)
{
	uint64_t bits = 0;
	size_t size = size_of(type);
	float single;
	double real;

	memcpy(&bits, at, size);
	switch (type) {
	case JSLB_F32:
		memcpy(&single, at, sizeof(single));
		add_real(out, (double)single);
		break;
	case JSLB_F64:
		memcpy(&real, at, sizeof(real));
		add_real(out, real);
		break;
	case JSLB_I8:
	case JSLB_I16:
	case JSLB_I32:
	case JSLB_I64:
		/* Extends the sign: it is the top bit of those read. */
		strbuf_addf(out, "%" PRId64, (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size));
		break;
	default:
		strbuf_addf(out, "%" PRIu64, bits);
	}
}

static bool jslb_read_add_column(struct slabs *s, const struct jslb_slab *slab)
{
	size_t size = size_of(slab->type);

	strbuf_addch(&s->text, '[');
	for (size_t at = 0; at < slab->bytes; at += size) {
		if (s->text.size > s->text_max)
			return false;
		if (at)
			strbuf_addch(&s->text, ',');
		jslb_read_add_number(&s->text, slab->type, s->file + slab->offset + at);
	}
	strbuf_addch(&s->text, ']');
	return true;
}

/* Returns the end of the string at `at`; `end` if it is unterminated. */
static const char *string_end(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at + 1 : end;
}

/* Parses {"$s":3}. Returns the text after it, and the number; NULL for other objects. */
static const char *scan_reference(const char *at, const char *end, uint64_t *number)
{
	static const char head[] = "{\"$s\":";
	const char *shape = head;

	for (; *shape; at++) {
		if (at == end)
			return NULL;
		if (*at == *shape)
			shape++;
		else if (!strchr(" \t\r\n", *at) || shape == head)
			return NULL;
	}
	while (at < end && *at == ' ')
		at++;
	for (*number = 0; at < end && *at >= '0' && *at <= '9' && *number < UINT32_MAX; at++)
		*number = 10 * *number + (uint64_t)(*at - '0');
	while (at < end && *at == ' ')
		at++;
	return at < end && *at == '}' ? at + 1 : NULL;
}

static bool add_json(struct slabs *s, const struct jslb_slab *slab, unsigned int depth);

static bool add_slab(struct slabs *s, uint64_t number, unsigned int depth)
{
	struct jslb_slab slab;

	if (depth > DEPTH_MAX || s->text.size > s->text_max || !find_slab(s, number, &slab))
		return false;
	return slab.type == JSLB_JSON ? add_json(s, &slab, depth) : jslb_read_add_column(s, &slab);
}

static bool add_json(struct slabs *s, const struct jslb_slab *slab, unsigned int depth)
{
	const char *at = s->file + slab->offset, *end = at + slab->bytes, *kept = at;
	uint64_t number;

	while (at < end) {
		const char *behind = *at == '{' ? scan_reference(at, end, &number) : NULL;

		if (behind) {
			strbuf_add(&s->text, kept, (size_t)(at - kept));
			if (!add_slab(s, number, depth + 1))
				return false;
			at = kept = behind;
		} else if (*at == '"') {
			at = string_end(at, end);
		} else {
			at++;
		}
	}
	strbuf_add(&s->text, kept, (size_t)(end - kept));
	return s->text.size <= s->text_max;
}

static int unpack(struct slabs *s, struct error *err)
{
	if (s->size < sizeof(s->head))
		return damaged(err, "truncated");
	memcpy(&s->head, s->file, sizeof(s->head));
	if (s->head.version != JSLB_VERSION)
		return error_text(err, -ENOTSUP, "unsupported JSLB version %u: prof reads %d",
				  s->head.version, JSLB_VERSION);
	if (s->head.slab_count > (s->size - sizeof(s->head)) / sizeof(struct jslb_slab))
		return damaged(err, "fewer slabs than the header states");
	s->text_max = s->size * GROWTH_MAX;
	return add_slab(s, s->head.root, 0)
		       ? 0
		       : damaged(err, "a slab is outside of the file or too large");
}

static int jslb_read(struct profile **p, const char *text, size_t size,
		     struct import_counts *counts, struct error *err)
{
	struct slabs s = {.file = text, .size = size};
	int ret = unpack(&s, err);

	if (!ret)
		ret = format_firefox.read(p, strbuf_text(&s.text), s.text.size, counts, err);
	strbuf_release(&s.text);
	return ret;
}

/* Implement struct format: the file is unpacked to JSON, a processed profile of any version. */
static bool jslb_matches(const char *text, size_t size)
{
	return size >= JSLB_MAGIC_SIZE && memcmp(text, JSLB_MAGIC, JSLB_MAGIC_SIZE) == 0;
}

/*
 * Writes a processed profile as JSLB: the JSON of the format firefox, whose large columns of
 * numbers become slabs. Front-ends load it in half the time.
 */

#define SLAB_ALIGN 8
#define NUMBER_MAX 40

struct packer {
	struct json_cursor s; /* cursor over the text */
	struct strbuf root; /* JSON text without columns */
	VEC(struct jslb_slab) slabs; /* offsets refer to `data` */
	struct strbuf data;
	size_t kept; /* end of the text already copied to `root` */
};

/* Columns that front-ends accept as slabs. */
static const struct {
	const char *table, *column;
	enum jslb_type type;
} columns[] = {
	{"stackTable", "frame", JSLB_I32},   {"stackTable", "prefixOffset", JSLB_I32},
	{"frameTable", "address", JSLB_I32}, {"frameTable", "func", JSLB_I32},
	{"frameTable", "lib", JSLB_I32},     {"frameTable", "inlineDepth", JSLB_U8},
	{"frameTable", "flags", JSLB_U8},    {"funcTable", "flags", JSLB_U8},
	{"samples", "time", JSLB_F64},	     {"samples", "timeDeltas", JSLB_F64},
	{"markers", "startTime", JSLB_F64},  {"markers", "endTime", JSLB_F64},
};

#define COLUMN_COUNT (sizeof(columns) / sizeof(*columns))

static double read_real(struct json_cursor *s)
{
	char text[NUMBER_MAX] = "";
	struct span value;

	json_cursor_value(s, &value);
	if (value.end - value.start < sizeof(text))
		memcpy(text, s->text + value.start, value.end - value.start);
	/* "null" is 0. */
	return strtod(text, NULL);
}

static void add_number(struct packer *p, enum jslb_type type)
{
	double real = read_real(&p->s), low = type == JSLB_I32 ? INT32_MIN : 0;
	double high = type == JSLB_I32 ? INT32_MAX : UINT8_MAX;
	int32_t whole;

	if (type == JSLB_F64) {
		strbuf_add(&p->data, (const char *)&real, sizeof(real));
		return;
	}
	whole = (int32_t)(real < low ? low : real > high ? high : real);
	if (type == JSLB_I32)
		strbuf_add(&p->data, (const char *)&whole, sizeof(whole));
	else
		strbuf_addch(&p->data, (char)whole);
}

static void add_column(struct packer *p, enum jslb_type type)
{
	struct jslb_slab slab = {.type = type, .offset = (uint32_t)p->data.size};

	strbuf_add(&p->root, p->s.text + p->kept, p->s.at - p->kept);
	strbuf_addf(&p->root, "{\"$s\":%zu}", p->slabs.count);
	json_for_each_element(&p->s, i)
		add_number(p, type);
	p->kept = p->s.at;
	slab.bytes = (uint32_t)(p->data.size - slab.offset);
	vec_push(&p->slabs, slab);
	while (p->data.size % SLAB_ALIGN)
		strbuf_addch(&p->data, '\0');
}

static size_t find_column(const struct packer *p, const char *table, struct span key)
{
	size_t i = 0;

	while (i < COLUMN_COUNT &&
	       (strcmp(columns[i].table, table) != 0 || !span_is(&p->s, key, columns[i].column)))
		i++;
	return i;
}

/* Packs a table's columns, and leaves everything else unchanged. */
static void pack_table(struct packer *p, const char *table)
{
	json_for_each_member(&p->s, key) {
		size_t column = find_column(p, table, key);

		if (column < COLUMN_COUNT && json_cursor_peek(&p->s) == '[')
			add_column(p, columns[column].type);
	}
}

/* Packs the members of an object that are tables. */
static void pack_tables(struct packer *p)
{
	json_for_each_member(&p->s, key) {
		size_t i = 0;

		while (i < COLUMN_COUNT && !span_is(&p->s, key, columns[i].table))
			i++;
		if (i < COLUMN_COUNT && json_cursor_peek(&p->s) == '{')
			pack_table(p, columns[i].table);
	}
}

static void pack_list(struct packer *p)
{
	json_for_each_element(&p->s, i) {
		if (json_cursor_peek(&p->s) == '{')
			pack_tables(p);
	}
}

static void pack(struct packer *p)
{
	json_for_each_member(&p->s, key) {
		if (span_is(&p->s, key, "shared") && json_cursor_peek(&p->s) == '{')
			pack_tables(p);
		else if ((span_is(&p->s, key, "threads") || span_is(&p->s, key, "counters")) &&
			 json_cursor_peek(&p->s) == '[')
			pack_list(p);
	}
	strbuf_add(&p->root, p->s.text + p->kept, p->s.size - p->kept);
}

static int write_file(struct packer *p, struct outfile *out, struct error *err)
{
	struct jslb_head head = {
		.magic = JSLB_MAGIC,
		.version = JSLB_VERSION,
		.slab_count = (uint32_t)p->slabs.count + 1,
		.root = (uint32_t)p->slabs.count,
	};
	size_t start = sizeof(head) + (p->slabs.count + 1) * sizeof(struct jslb_slab);
	struct jslb_slab root = {.type = JSLB_JSON, .bytes = (uint32_t)p->root.size};

	start = (start + SLAB_ALIGN - 1) / SLAB_ALIGN * SLAB_ALIGN;
	if (start + p->data.size + p->root.size > UINT32_MAX)
		return error_text(err, -EFBIG,
				  "a JSLB file can have at most 4 GB: use a different format");
	root.offset = (uint32_t)(start + p->data.size);
	outfile_write(out, &head, sizeof(head));
	vec_for_each(&p->slabs, struct jslb_slab *, slab) {
		slab->offset += (uint32_t)start;
		outfile_write(out, slab, sizeof(*slab));
	}
	outfile_write(out, &root, sizeof(root));
	outfile_write(out, "\0\0\0\0\0\0\0",
		      start - sizeof(head) - (p->slabs.count + 1) * sizeof(root));
	outfile_write(out, p->data.text, p->data.size);
	outfile_write(out, p->root.text, p->root.size);
	return 0;
}

static int jslb_write(const struct profile *profile, const struct export_options *options,
		      struct outfile *out, struct export_counts *counts, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	struct packer p = {0};
	size_t size;
	int ret = written_text(&format_firefox, profile, options, counts, &text, &size, err);

	if (ret)
		return ret;
	json_cursor_init(&p.s, text, size);
	pack(&p);
	ret = write_file(&p, out, err);
	strbuf_release(&p.root);
	strbuf_release(&p.data);
	vec_release(&p.slabs);
	return ret;
}

const struct format format_jslb = {
	.name = "jslb",
	.suffixes = (const char *const[]){".jslb", NULL},
	.is_timeline = true,
	.is_plain = true,
	.matches = jslb_matches,
	.read = jslb_read,
	.write = jslb_write,
};

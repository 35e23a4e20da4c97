/* SPDX-License-Identifier: MIT */
/*
 * Writes a processed profile as JSLB: the JSON of the format firefox, whose large columns of
 * numbers become slabs. Front-ends load it in half the time.
 */
#include "lib/format/jslb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/jslb_read.h"
#include "lib/format/written_text.h"
#include "lib/base/json/cursor.h"

#define SLAB_ALIGN 8
#define NUMBER_MAX 40

struct packer {
	struct json_cursor s; /* the text */
	struct strbuf root; /* its JSON without columns */
	VEC(struct jslb_slab) slabs; /* offsets are those in `data` */
	struct strbuf data;
	size_t kept; /* up to here the text is in `root` */
};

/* Columns that front-ends take as slabs. */
static const struct {
	const char *table, *column;
	enum jslb_type type;
} columns[] = {
	{"stackTable", "frame", JSLB_I32},   {"stackTable", "prefixOffset", JSLB_I32},
	{"frameTable", "address", JSLB_I32}, {"frameTable", "func", JSLB_I32},
	{"frameTable", "lib", JSLB_I32},     {"frameTable", "inlineDepth", JSLB_U8},
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
	double real = read_real(&p->s);
	int32_t whole = (int32_t)real;
	uint8_t byte = (uint8_t)real;

	if (type == JSLB_F64)
		strbuf_add(&p->data, (const char *)&real, sizeof(real));
	else if (type == JSLB_I32)
		strbuf_add(&p->data, (const char *)&whole, sizeof(whole));
	else
		strbuf_add(&p->data, (const char *)&byte, sizeof(byte));
}

static void add_column(struct packer *p, enum jslb_type type)
{
	struct jslb_slab slab = {.type = type, .offset = (uint32_t)p->data.size};
	struct json_cursor_list list = {0};

	strbuf_add(&p->root, p->s.text + p->kept, p->s.at - p->kept);
	strbuf_addf(&p->root, "{\"$s\":%zu}", p->slabs.count);
	while (json_cursor_element(&p->s, &list))
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

/* Goes through a table, and leaves everything but its columns as it is. */
static void pack_table(struct packer *p, const char *table)
{
	struct json_cursor_list list = {0};
	struct span key;

	while (json_cursor_member(&p->s, &list, &key)) {
		size_t column = find_column(p, table, key);

		if (column < COLUMN_COUNT && json_cursor_peek(&p->s) == '[')
			add_column(p, columns[column].type);
		else
			json_cursor_skip(&p->s);
	}
}

/* Goes through the members of an object that are tables. */
static void pack_tables(struct packer *p)
{
	struct json_cursor_list list = {0};
	struct span key;

	while (json_cursor_member(&p->s, &list, &key)) {
		size_t i = 0;

		while (i < COLUMN_COUNT && !span_is(&p->s, key, columns[i].table))
			i++;
		if (i < COLUMN_COUNT && json_cursor_peek(&p->s) == '{')
			pack_table(p, columns[i].table);
		else
			json_cursor_skip(&p->s);
	}
}

static void pack_list(struct packer *p)
{
	struct json_cursor_list list = {0};

	while (json_cursor_element(&p->s, &list)) {
		if (json_cursor_peek(&p->s) == '{')
			pack_tables(p);
		else
			json_cursor_skip(&p->s);
	}
}

static void pack(struct packer *p)
{
	struct json_cursor_list list = {0};
	struct span key;

	while (json_cursor_member(&p->s, &list, &key)) {
		if (span_is(&p->s, key, "shared") && json_cursor_peek(&p->s) == '{')
			pack_tables(p);
		else if ((span_is(&p->s, key, "threads") || span_is(&p->s, key, "counters")) &&
			 json_cursor_peek(&p->s) == '[')
			pack_list(p);
		else
			json_cursor_skip(&p->s);
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
				  "a JSLB file has at most 4 GB: write another format");
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

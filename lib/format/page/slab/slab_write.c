/* SPDX-License-Identifier: MIT */
#include "lib/format/page/slab/slab_columns.h"
#include "lib/model/meaning/categories.h"

/* Bytes after which a part of the samples ends: readers unpack a part at once. */
#define PART_SIZE (2u << 20)

struct slab_writer {
	/* A copy of the profile's struct, with categories from either source. */
	struct profile view;
	struct frame *frames; /* owned; NULL: use the frames of the profile */
	VEC(uint64_t) values; /* values of the current column */
	struct strbuf texts; /* strings of the current column */
	struct strbuf out; /* output of the current block */
	thread_id thread; /* the thread of the next samples */
	struct sample_iterator rows;
	struct sample *chunk_rows; /* room for a chunk, owned */
	unsigned char *chunk; /* and for its bytes */
};

/* Computes categories for the file, so that readers need no rules about languages. */
static void add_categories(struct slab_writer *w)
{
	struct profile *p = &w->view;
	size_t count = p->frames.rows.count;
	_cleanup_free_ struct frame_category *of = categories_of_frames(p);

	w->frames = xcalloc(count + 1, sizeof(*w->frames));
	if (count)
		memcpy(w->frames, p->frames.rows.items, count * sizeof(*w->frames));
	for (size_t i = 0; i < count; i++) {
		w->frames[i].category = of[i].category;
		w->frames[i].subcategory = of[i].subcategory;
	}
	p->frames.rows.items = w->frames;
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		struct profile_category row = {.name = xstrdup(categories[i]->name),
					       .color = xstrdup(categories[i]->color)};

		for (const char *const *name = categories[i]->subcategories; *name; name++)
			vec_push(&row.subcategories, xstrdup(*name));
		vec_push(&p->categories, row);
	}
}

struct slab_writer *slab_writer_new(const struct profile *p)
{
	struct slab_writer *w = xcalloc(1, sizeof(*w));

	w->view = *p;
	w->chunk_rows = xcalloc(SLAB_CHUNK_ROWS, sizeof(*w->chunk_rows));
	w->chunk = xmalloc(ROW_PLANES_MAX(SLAB_CHUNK_ROWS));
	if (!p->categories.count)
		add_categories(w);
	return w;
}

void slab_writer_free(struct slab_writer *w)
{
	vec_for_each(&w->view.categories, struct profile_category *, row) {
		if (!w->frames)
			break;
		free(row->name);
		free(row->color);
		vec_for_each(&row->subcategories, char **, name)
			free(*name);
		vec_release(&row->subcategories);
	}
	if (w->frames)
		vec_release(&w->view.categories);
	free(w->frames);
	sample_iterator_release(&w->rows);
	free(w->chunk_rows);
	free(w->chunk);
	vec_release(&w->values);
	strbuf_release(&w->texts);
	strbuf_release(&w->out);
	free(w);
}

static uint64_t load(const char *at, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size < sizeof(value) ? size : sizeof(value));
	return value;
}

/* Adds a string, preceded by its size plus 1, so that 0 means NULL. */
static void add_text(struct slab_writer *w, const char *at, bool is_sized)
{
	const char *text;
	size_t size;

	memcpy(&text, at, sizeof(text));
	size = text && !is_sized ? strlen(text) : 0;
	if (is_sized && text)
		memcpy(&size, at + sizeof(text), sizeof(size));
	vec_push(&w->values, text ? size + 1 : 0);
	if (text)
		strbuf_add(&w->texts, text, size);
}

static uint64_t marker_number(const struct marker_value *value)
{
	if (value->type == FIELD_STRING)
		return value->string;
	return value->type == FIELD_STACK ? value->stack : value->number;
}

/* Returns the encoded value of a row; *before is that of the previous row, initially 0. */
static uint64_t encode(const struct slab_column *c, const char *row, size_t number,
		       uint64_t *before)
{
	uint64_t value = load(row + c->offset, c->size), last = *before;

	switch (c->kind) {
	case COLUMN_ASCENDING:
		*before = value;
		return value - last;
	case COLUMN_NEAR:
		*before = value;
		return zigzag(value - last);
	case COLUMN_ID:
		return (uint32_t)(value + 1);
	case COLUMN_NEAR_ID:
		value = (uint32_t)(value + 1);
		*before = value;
		return zigzag(value - last);
	case COLUMN_PARENT:
		return value == UINT32_MAX ? 0 : number - value;
	case COLUMN_SIGNED:
		return zigzag(value);
	case COLUMN_VALUE:
		return marker_number((const void *)row);
	default:
		return value;
	}
}

static void add_rows(struct slab_writer *w, const struct slab_column *c, const char *rows,
		     size_t count)
{
	uint64_t before = 0;
	size_t row_size = slab_tables[c->table].row_size;

	vec_reserve(&w->values, w->values.count + count);
	for (size_t i = 0; i < count; i++) {
		const char *row = rows + i * row_size;

		if (c->kind == COLUMN_BYTES)
			strbuf_add(&w->texts, row + c->offset, c->size);
		else if (c->kind >= COLUMN_TEXT)
			add_text(w, row + c->offset, c->kind == COLUMN_SIZED_TEXT);
		else
			vec_push(&w->values, encode(c, row, i, &before));
	}
}

static void put(struct slab_writer *w, uint64_t value, size_t size)
{
	strbuf_add(&w->out, &value, size);
}

/* Writes at least a byte per value, so that a reader can bound its memory by the size. */
static void put_values(struct slab_writer *w)
{
	size_t count = w->values.count, width = 1;
	_cleanup_free_ unsigned char *plane = xmalloc(count + 1);
	uint64_t all = 0;

	for (size_t i = 0; i < count; i++)
		all |= w->values.items[i];
	while (width < 8 && all >> 8 * width)
		width++;
	put(w, width, 1);
	put(w, count, 8);
	put(w, count * width + w->texts.size, 8);
	for (size_t k = 0; k < width; k++) {
		for (size_t i = 0; i < count; i++)
			plane[i] = (unsigned char)(w->values.items[i] >> 8 * k);
		strbuf_add(&w->out, plane, count);
	}
	strbuf_add(&w->out, strbuf_text(&w->texts), w->texts.size);
}

static void put_bytes(struct slab_writer *w, size_t width)
{
	put(w, width, 1);
	put(w, w->texts.size / width, 8);
	put(w, w->texts.size, 8);
	strbuf_add(&w->out, strbuf_text(&w->texts), w->texts.size);
}

static void begin_column(struct slab_writer *w, const char *name)
{
	w->values.count = 0;
	strbuf_reset(&w->texts);
	put(w, strlen(name), 1);
	strbuf_adds(&w->out, name);
}

static void write_counts(struct slab_writer *w, enum slab_table table)
{
	size_t parents = slab_parents(&w->view, table);

	begin_column(w, slab_tables[table].name);
	for (size_t i = 0; i < parents; i++)
		vec_push(&w->values, slab_rows(&w->view, table, i).count);
	put_values(w);
}

static void write_column(struct slab_writer *w, const struct slab_column *c)
{
	const struct profile *p = &w->view;
	size_t parents = slab_parents(p, c->table);

	begin_column(w, c->name);
	for (size_t i = 0; i < parents; i++) {
		struct any_vec rows = slab_rows(p, c->table, i);

		add_rows(w, c, rows.items, rows.count);
	}
	if (c->kind == COLUMN_BYTES)
		put_bytes(w, c->size);
	else
		put_values(w);
}

/* Adds the next rows of the thread. Returns false after its last row. */
static bool add_chunk(struct slab_writer *w)
{
	struct slab_chunk head = {.thread = w->thread};
	const struct sample *row = NULL;

	while (head.count < SLAB_CHUNK_ROWS && (row = sample_iterator_next(&w->rows)))
		w->chunk_rows[head.count++] = *row;
	if (!head.count)
		return false;
	head.size = (uint32_t)row_planes_pack(w->chunk_rows, head.count, w->chunk);
	strbuf_add(&w->texts, &head, sizeof(head));
	strbuf_add(&w->texts, w->chunk, head.size);
	return row != NULL;
}

/* Returns false after the last thread. */
static bool write_chunks(struct slab_writer *w)
{
	const struct threads *threads = &w->view.threads;

	begin_column(w, SLAB_CHUNKS);
	while (w->thread < threads->rows.count && w->texts.size < PART_SIZE) {
		if (!w->rows.of)
			w->rows = samples_begin(&threads->rows.items[w->thread].samples);
		if (add_chunk(w))
			continue;
		sample_iterator_release(&w->rows);
		w->thread++;
	}
	put_bytes(w, 1);
	return w->thread < threads->rows.count;
}

static void write_tables(struct slab_writer *w, enum slab_block block)
{
	for (enum slab_table i = 0; i < SLAB_TABLE_COUNT; i++) {
		if (slab_tables[i].block == block && !slab_tables[i].fixed)
			write_counts(w, i);
	}
	for (size_t i = 0; i < slab_column_count; i++) {
		if (slab_columns[i].block == block)
			write_column(w, &slab_columns[i]);
	}
}

bool slab_write(struct slab_writer *w, enum slab_block block, slab_sink *sink, void *ctx)
{
	uint32_t version = SLAB_VERSION;
	bool has_more = false;
	uint64_t size;

	strbuf_reset(&w->out);
	if (block == BLOCK_SAMPLES)
		has_more = write_chunks(w);
	else
		write_tables(w, block);
	size = w->out.size;
	sink(ctx, SLAB_MAGIC, strlen(SLAB_MAGIC));
	sink(ctx, &version, sizeof(version));
	sink(ctx, &size, sizeof(size));
	sink(ctx, strbuf_text(&w->out), w->out.size);
	return has_more;
}

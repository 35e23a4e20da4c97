/* SPDX-License-Identifier: MIT */
#include "lib/base/bytes.h"
#include "lib/format/page/slab/slab_columns.h"

#define NAME_MAX_SIZE 64

struct slab_reader {
	struct profile *profile;
	bool is_known[SLAB_TABLE_COUNT]; /* the rows of the table have been created */
};

/* A column's data in the block. */
struct column_data {
	char name[NAME_MAX_SIZE];
	uint8_t width;
	uint64_t count; /* number of values */
	struct bytes bytes;
};

struct slab_reader *slab_reader_new(void)
{
	struct slab_reader *r = xcalloc(1, sizeof(*r));

	r->profile = profile_new();
	for (int i = 0; i < SLAB_TABLE_COUNT; i++)
		r->is_known[i] = slab_tables[i].fixed;
	return r;
}

void slab_reader_free(struct slab_reader *r)
{
	if (r)
		profile_free(r->profile);
	free(r);
}

static int damaged(const char *what, struct error *err)
{
	return error_text(err, -EBADMSG, "the data is damaged: %s", what);
}

static uint64_t value_at(const struct column_data *d, size_t i)
{
	const uint8_t *at = d->bytes.at + i;
	uint64_t value = 0;

	for (unsigned int k = 0; k < d->width; k++, at += d->count)
		value |= (uint64_t)*at << 8 * k;
	return value;
}

/* Makes zeroed rows of all parents. Each row takes at least a byte of the rest of the block. */
static int make_rows(struct slab_reader *r, enum slab_table table, const struct column_data *d,
		     size_t left, struct error *err)
{
	size_t parents = slab_parents(r->profile, table), size = slab_tables[table].row_size;

	if (r->is_known[table] || d->count != parents || d->bytes.end < d->bytes.at + d->count ||
	    (slab_tables[table].parent != SLAB_NONE && !r->is_known[slab_tables[table].parent]))
		return damaged(d->name, err);
	r->is_known[table] = true;
	for (size_t i = 0; i < parents; i++) {
		uint64_t count = value_at(d, i);
		struct any_vec rows = {0};

		if (count > left)
			return damaged(d->name, err);
		left -= count;
		if (!count)
			continue;
		rows.items = xcalloc(count, size);
		rows.count = rows.capacity = count;
		slab_set_rows(r->profile, table, i, rows);
	}
	return 0;
}

/* Decodes a value and updates the state for the next one; false if impossible. */
static bool decode(const struct slab_column *c, size_t number, uint64_t *before, uint64_t *value)
{
	uint64_t coded = *value;

	switch (c->kind) {
	case COLUMN_ASCENDING:
		*value = *before += coded;
		return *value >= coded;
	case COLUMN_NEAR:
		*value = *before += unzigzag(coded);
		return true;
	case COLUMN_ID:
		*value = (uint32_t)(coded - 1);
		return coded <= UINT32_MAX;
	case COLUMN_NEAR_ID:
		*before += unzigzag(coded);
		*value = (uint32_t)(*before - 1);
		return *before <= UINT32_MAX;
	case COLUMN_PARENT:
		*value = coded ? number - coded : UINT32_MAX;
		return coded <= number;
	case COLUMN_SIGNED:
		*value = unzigzag(coded);
		return true;
	case COLUMN_NUMBER:
		return !c->limit || coded < c->limit;
	default:
		return true;
	}
}

static bool read_numbers(const struct slab_column *c, const struct column_data *d, size_t first,
			 struct any_vec rows)
{
	size_t row_size = slab_tables[c->table].row_size;
	char *at = slab_member(&rows, c);
	uint64_t before = 0, all = 0;
	bool is_good = true;

	for (size_t i = 0; i < rows.count; i++, at += row_size) {
		uint64_t value = value_at(d, first + i);

		is_good &= decode(c, i, &before, &value);
		all |= value;
		memcpy(at, &value, c->size);
	}
	return is_good && (c->size == 8 || !(all >> 8 * c->size));
}

static bool read_text(const struct slab_column *c, struct bytes *texts, uint64_t coded, char *at)
{
	size_t size = coded ? coded - 1 : 0;
	const char *from = coded ? bytes_take(texts, size) : NULL;
	char *text;

	if (coded && !from)
		return false;
	text = from ? xmalloc(size + 1) : NULL;
	if (text) {
		memcpy(text, from, size);
		text[size] = '\0';
	}
	if (c->kind == COLUMN_FORMAT) {
		const char *format = profile_extra_format(text);

		free(text);
		memcpy(at, &format, sizeof(format));
		return true;
	}
	memcpy(at, &text, sizeof(text));
	if (c->kind == COLUMN_SIZED_TEXT)
		memcpy(at + sizeof(text), &size, sizeof(size));
	return true;
}

/* A duplicate column would leak the first column's strings. */
static bool has_text(const struct slab_column *c, const char *at)
{
	const char *text;

	memcpy(&text, at, sizeof(text));
	return text && c->kind != COLUMN_FORMAT;
}

static bool read_texts(const struct slab_column *c, const struct column_data *d, size_t first,
		       struct bytes *texts, struct any_vec rows)
{
	char *at = slab_member(&rows, c);

	for (size_t i = 0; i < rows.count; i++, at += slab_tables[c->table].row_size) {
		if (has_text(c, at) || !read_text(c, texts, value_at(d, first + i), at))
			return false;
	}
	return true;
}

static bool read_bytes(const struct slab_column *c, struct bytes *bytes, struct any_vec rows)
{
	char *at = slab_member(&rows, c);

	for (size_t i = 0; i < rows.count; i++, at += slab_tables[c->table].row_size) {
		const void *from = bytes_take(bytes, c->size);

		if (!from)
			return false;
		memcpy(at, from, c->size);
	}
	return true;
}

static int read_column(struct slab_reader *r, const struct slab_column *c,
		       const struct column_data *d, struct error *err)
{
	size_t parents = slab_parents(r->profile, c->table), first = 0, all = 0;
	struct bytes rest = d->bytes;
	bool is_good = r->is_known[c->table];

	for (size_t i = 0; i < parents; i++)
		all += slab_rows(r->profile, c->table, i).count;
	if (!is_good || d->count != all ||
	    (c->kind == COLUMN_BYTES ? d->width != c->size : d->width > 8))
		return damaged(d->name, err);
	if (c->kind != COLUMN_BYTES && !bytes_take(&rest, d->count * d->width))
		return damaged(d->name, err);
	for (size_t i = 0; is_good && i < parents; i++) {
		struct any_vec rows = slab_rows(r->profile, c->table, i);

		if (c->kind == COLUMN_BYTES)
			is_good = read_bytes(c, &rest, rows);
		else if (c->kind >= COLUMN_TEXT)
			is_good = read_texts(c, d, first, &rest, rows);
		else
			is_good = read_numbers(c, d, first, rows);
		first += rows.count;
	}
	return is_good ? 0 : damaged(d->name, err);
}

/* True if the rows are in order, and refer to existing stacks and events, which are read before. */
static bool rows_are_good(const struct profile *p, const struct samples *before,
			  const struct sample *rows, size_t count)
{
	size_t stacks = p->stacks.rows.count, events = p->events.rows.count;
	uint64_t time = samples_last_time(before);
	bool is_good = true;

	for (size_t i = 0; i < count; i++) {
		const struct sample *row = &rows[i];

		is_good &= row->time >= time && (!row->event || row->event < events) &&
			   (row->stack == NO_STACK || (row->stack < stacks && row->weight));
		time = row->time;
	}
	return is_good;
}

static bool read_chunk(struct slab_reader *r, struct bytes *b, struct sample *rows)
{
	struct threads *threads = &r->profile->threads;
	struct slab_chunk head = {0};
	const void *at = bytes_take(b, sizeof(head));
	struct samples *samples;

	if (at)
		memcpy(&head, at, sizeof(head));
	at = bytes_take(b, head.size);
	if (!at || head.thread >= threads->rows.count || !head.count ||
	    head.count > SLAB_CHUNK_ROWS || !row_planes_unpack(at, head.size, rows, head.count))
		return false;
	samples = &threads->rows.items[head.thread].samples;
	if (!rows_are_good(r->profile, samples, rows, head.count))
		return false;
	for (uint32_t i = 0; i < head.count; i++)
		samples_add(samples, &rows[i]);
	return true;
}

static int read_chunks(struct slab_reader *r, const struct column_data *d, struct error *err)
{
	struct sample *rows = xcalloc(SLAB_CHUNK_ROWS, sizeof(*rows));
	bool is_good = r->is_known[SLAB_THREADS] && r->is_known[SLAB_EVENTS] &&
		       r->is_known[SLAB_STACKS];
	struct bytes b = d->bytes;

	while (is_good && bytes_left(&b))
		is_good = read_chunk(r, &b, rows);
	free(rows);
	return is_good ? 0 : damaged(d->name, err);
}

static int read_one(struct slab_reader *r, const struct column_data *d, size_t left,
		    struct error *err)
{
	if (!strcmp(d->name, SLAB_CHUNKS))
		return read_chunks(r, d, err);
	for (enum slab_table i = 0; i < SLAB_TABLE_COUNT; i++) {
		if (!slab_tables[i].fixed && !strcmp(slab_tables[i].name, d->name))
			return make_rows(r, i, d, left, err);
	}
	for (size_t i = 0; i < slab_column_count; i++) {
		if (!strcmp(slab_columns[i].name, d->name))
			return read_column(r, &slab_columns[i], d, err);
	}
	return 0;
}

static bool next_column(struct bytes *b, struct column_data *d)
{
	size_t name_size = bytes_u8(b);
	const char *name = bytes_take(b, name_size);
	uint64_t size;

	if (!name || name_size >= sizeof(d->name))
		return false;
	memcpy(d->name, name, name_size);
	d->name[name_size] = '\0';
	d->width = bytes_u8(b);
	d->count = bytes_u64(b);
	size = bytes_u64(b);
	if (b->failed || size > bytes_left(b) || !d->width || d->count > size / d->width)
		return false;
	bytes_init(&d->bytes, b->at, size);
	bytes_skip(b, size);
	return true;
}

int slab_read(struct slab_reader *r, const void *data, size_t size, struct error *err)
{
	const size_t magic_size = strlen(SLAB_MAGIC);
	struct column_data d;
	const char *magic;
	uint32_t version;
	struct bytes b;
	int ret = 0;

	bytes_init(&b, data, size);
	magic = bytes_take(&b, magic_size);
	if (!magic || memcmp(magic, SLAB_MAGIC, magic_size) != 0)
		return damaged("wrong magic number", err);
	version = bytes_u32(&b);
	if (version < SLAB_VERSION_MIN || version > SLAB_VERSION)
		return error_text(err, -ENOTSUP, "unsupported version of the data");
	if (bytes_u64(&b) != bytes_left(&b))
		return damaged("truncated", err);
	while (!ret && bytes_left(&b)) {
		if (!next_column(&b, &d))
			return damaged("a column", err);
		if (d.width > 8 && strchr(d.name, '.') == NULL)
			return damaged(d.name, err);
		ret = read_one(r, &d, bytes_left(&b), err);
	}
	return ret;
}

int slab_reader_take(struct slab_reader *r, struct profile **p, struct error *err)
{
	int ret = slab_check(r->profile, err);

	*p = NULL;
	if (!ret) {
		*p = r->profile;
		r->profile = NULL;
	}
	return ret;
}

/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/module_tables.h"

#include <elf.h>

/*
 * Minimum time to keep memory that the walker may still read: a fork in the kernel copies a
 * reference to it, which is replaced only after the fork's record has been read.
 */
#define GRACE_ROUNDS 4
#define GRACE_NS 50000000ull

void deferred_free_release(struct deferred_free *g)
{
	vec_release(&g->rows);
}

void deferred_free_add(struct deferred_free *g, const struct shard_piece *piece, uint64_t now)
{
	if (piece->words)
		vec_push(&g->rows, (struct deferred_free_row){*piece, g->round, now});
}

void deferred_free_collect(struct deferred_free *g, struct table_arena *arena, uint64_t now)
{
	size_t count = 0;

	while (count < g->rows.count) {
		const struct deferred_free_row *row = &g->rows.items[count];

		if (row->round + GRACE_ROUNDS > g->round || row->time + GRACE_NS > now)
			break;
		table_arena_free(arena, &row->piece);
		count++;
	}
	if (!count)
		return;
	g->rows.count -= count;
	memmove(g->rows.items, g->rows.items + count, g->rows.count * sizeof(*g->rows.items));
}

/* Maximum words of index and rows of a chunk, chosen to waste little of a shard. */
#define CHUNK_WORDS_MAX (UNWIND_SHARD_WORDS - 1024)

void module_tables_init(struct module_tables *t, struct table_arena *arena, uint32_t page_size)
{
	*t = (struct module_tables){.arena = arena, .page_size = page_size};
}

void module_tables_release(struct module_tables *t)
{
	vec_for_each(&t->rows, struct module_table *, row) {
		vec_release(&row->segments);
		vec_release(&row->chunks);
	}
	vec_release(&t->rows);
}

void module_tables_add(struct module_tables *t, const struct rec_module *rec,
		       enum table_state state)
{
	struct module_table *row;

	if (rec->module_id >= t->rows.count)
		vec_add_zeroed(&t->rows, rec->module_id + 1 - t->rows.count);
	row = &t->rows.items[rec->module_id];
	row->state = state;
	row->machine = rec->machine;
	vec_clear(&row->segments);
	for (unsigned int i = 0; i < rec->segment_count; i++)
		vec_push(&row->segments, rec->segments[i]);
}

/* Returns the first row a page needs: the one before its own, which extends into it. */
static uint32_t first_row(const struct unwind_table *table, uint32_t page)
{
	uint32_t row = table->index.items[page];

	return row ? row - 1 : 0;
}

/* Returns the number of pages from `page` on that fit into a chunk. */
static uint32_t chunk_pages(const struct unwind_table *table, uint32_t page)
{
	uint32_t low = page, high = table->page_count, start = first_row(table, page);

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		uint32_t words = middle - page + 1 + (table->index.items[middle] - start);

		if (words <= CHUNK_WORDS_MAX)
			low = middle;
		else
			high = middle - 1;
	}
	return low - page;
}

static bool store_chunk(struct module_tables *t, const struct unwind_table *table, uint32_t page,
			uint32_t count, struct table_chunk *chunk)
{
	uint32_t start = first_row(table, page);
	uint32_t rows = table->index.items[page + count] - start;
	uint32_t *words;

	if (!table_arena_alloc(t->arena, count + 1 + rows, &chunk->piece))
		return false;
	words = table_arena_words(t->arena, &chunk->piece);
	for (uint32_t i = 0; i <= count; i++)
		words[i] = table->index.items[page + i] - start;
	memcpy(words + count + 1, table->rows.items + start, rows * sizeof(uint32_t));
	chunk->start = table->start + (uint64_t)page * UNWIND_PAGE_SIZE;
	chunk->page_count = count;
	return true;
}

/* Frees the memory of unpublished chunks. */
static void drop_chunks(struct module_tables *t, struct module_table *row)
{
	vec_for_each(&row->chunks, const struct table_chunk *, chunk)
		table_arena_free(t->arena, &chunk->piece);
	row->chunks.count = 0;
	row->rows = 0;
	row->state = TABLE_NONE;
}

void module_tables_store(struct module_tables *t, uint32_t module_id,
			 const struct unwind_table *table)
{
	struct module_table *row = &t->rows.items[module_id];

	row->state = TABLE_NONE;
	row->entry = table->entry;
	row->has_entry = table->has_entry;
	row->rows = 0;
	for (uint32_t page = 0; page < table->page_count;) {
		struct table_chunk chunk;
		uint32_t count = chunk_pages(table, page);

		if (!count || !store_chunk(t, table, page, count, &chunk)) {
			t->too_large++;
			log_debug("no room for the unwind table of module %u", module_id);
			drop_chunks(t, row);
			return;
		}
		vec_push(&row->chunks, chunk);
		row->state = TABLE_READY;
		page += count;
		row->rows = table->index.items[page];
	}
}

/* Finds the vaddr of a file offset by the executable segment that covers it. */
static bool find_vaddr(const struct module_table *row, uint64_t offset, uint64_t page_size,
		       uint64_t *vaddr)
{
	vec_for_each(&row->segments, const struct rec_segment *, segment) {
		/* A mapping begins at a page boundary, possibly before its segment. */
		uint64_t start = segment->file_offset & ~(page_size - 1);

		if (!segment->executable || offset < start ||
		    offset - start >= segment->file_size + (segment->file_offset - start))
			continue;
		*vaddr = segment->vaddr + (offset - segment->file_offset);
		return true;
	}
	return false;
}

static void describe_chunk(const struct table_chunk *chunk, struct unwind_mapping *m)
{
	m->flags = UNWIND_HAS_TABLE;
	m->table_start = chunk->start;
	m->shard = chunk->piece.shard;
	m->index_at = chunk->piece.at;
	m->page_count = chunk->page_count;
	m->rows_at = chunk->piece.at + chunk->page_count + 1;
}

/* Adds one entry per chunk, split at the chunks' borders. */
static void describe_chunks(const struct module_table *row, const struct unwind_mapping *whole,
			    struct unwind_mappings *out)
{
	uint64_t at = whole->start;

	for (size_t i = 0; i < row->chunks.count && at < whole->end; i++) {
		const struct table_chunk *chunk = &row->chunks.items[i];
		bool is_last = i + 1 == row->chunks.count;
		uint64_t end = is_last ? whole->end : row->chunks.items[i + 1].start + whole->bias;
		struct unwind_mapping m = *whole;

		if (end <= at)
			continue;
		m.start = at;
		m.end = end < whole->end ? end : whole->end;
		describe_chunk(chunk, &m);
		vec_push(&out->rows, m);
		at = m.end;
	}
}

void module_tables_describe(const struct module_tables *t, const struct mapping *mapping,
			    struct unwind_mappings *out)
{
	struct unwind_mapping m = {.start = mapping->start, .end = mapping->end};
	const struct module_table *row = NULL;
	uint64_t vaddr;

	if (mapping->module < t->rows.count)
		row = &t->rows.items[mapping->module];
	if (!row || !find_vaddr(row, mapping->file_offset, t->page_size, &vaddr)) {
		vec_push(&out->rows, m);
		return;
	}
	m.bias = mapping->start - vaddr;
	m.entry = row->entry;
	if (row->state == TABLE_PENDING || row->state == TABLE_NONE) {
		m.flags = row->state == TABLE_PENDING ? UNWIND_PENDING : 0;
		vec_push(&out->rows, m);
		return;
	}
	if (row->has_entry)
		m.entry = 0;
	describe_chunks(row, &m, out);
}

bool module_tables_next_runtime(const struct module_tables *t, const struct mapping_table *mappings,
				size_t *at, struct mapped_runtime *runtime)
{
	while (*at < mappings->rows.count) {
		const struct mapping *mapping = &mappings->rows.items[(*at)++];
		const struct module_table *row;
		uint64_t vaddr;

		if (mapping->module >= t->rows.count)
			continue;
		row = &t->rows.items[mapping->module];
		if (!row->runtime || !find_vaddr(row, mapping->file_offset, t->page_size, &vaddr))
			continue;
		*runtime = (struct mapped_runtime){mapping->module, row->runtime, row->layout,
						   mapping->start - vaddr, mapping->file_offset};
		return true;
	}
	return false;
}

bool module_tables_are_32bit(const struct module_tables *t, const struct mapping_table *mappings)
{
	bool is_32bit = false;

	vec_for_each(&mappings->rows, const struct mapping *, mapping) {
		uint16_t machine = mapping->module < t->rows.count
					   ? t->rows.items[mapping->module].machine
					   : 0;

		if (machine == EM_X86_64 || machine == EM_AARCH64)
			return false;
		is_32bit |= machine == EM_386 || machine == EM_ARM;
	}
	return is_32bit;
}

void module_tables_count(const struct module_tables *t, uint64_t *tables, uint64_t *rows)
{
	*tables = *rows = 0;
	vec_for_each(&t->rows, const struct module_table *, table) {
		*tables += table->state == TABLE_READY;
		*rows += table->rows;
	}
}

/* SPDX-License-Identifier: MIT */
/* Lines of Ruby's code: rows, and for each place in the code the number of its row. */
#include "lib/base/alloc.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/code/runtimes/ruby.h"

#define ROWS_MAX (1u << 16)
#define INDEX_MAX ((size_t)1 << 20)

/*
 * The index counts, for each place, the rows up to it. The first 54 places have 7 bits each, 9 of
 * them a word; then there are blocks of 512 places: a count, counts of 9 bits for all but the first
 * of its 8 words, and these, which have a bit at the place of each row.
 */
#define INDEX_PLACES 54u
#define INDEX_WORD_PLACES 9u
#define INDEX_FIRST_WORDS (INDEX_PLACES / INDEX_WORD_PLACES)
#define BLOCK_PLACES 512u
#define BLOCK_WORDS 10u

static size_t index_words(uint32_t units)
{
	if (units <= INDEX_PLACES)
		return INDEX_FIRST_WORDS;
	return INDEX_FIRST_WORDS +
	       BLOCK_WORDS * (size_t)((units - INDEX_PLACES + BLOCK_PLACES - 1) / BLOCK_PLACES);
}

static uint64_t word_at(const uint8_t *data, size_t word)
{
	struct bytes b;

	bytes_init(&b, data + word * 8, 8);
	return bytes_u64(&b);
}

/* Returns the number of rows up to the unit. */
static uint64_t count_rows(const uint8_t *index, uint32_t unit)
{
	uint32_t at, word;
	uint64_t bits, count;
	size_t block;

	if (unit < INDEX_PLACES)
		return word_at(index, unit / INDEX_WORD_PLACES) >> unit % INDEX_WORD_PLACES * 7 &
		       127;
	at = (unit - INDEX_PLACES) % BLOCK_PLACES;
	block = INDEX_FIRST_WORDS + BLOCK_WORDS * (size_t)((unit - INDEX_PLACES) / BLOCK_PLACES);
	word = at / 64;
	count = (uint32_t)word_at(index, block);
	if (word)
		count += word_at(index, block + 1) >> (word - 1) * 9 & 511;
	bits = word_at(index, block + 2 + word) << (63 - at % 64);
	return count + (uint64_t)__builtin_popcountll(bits);
}

static void add_line(struct managed_code *code, uint32_t unit, uint32_t line)
{
	if (line > INT32_MAX)
		line = 0;
	if (!code->lines.count || vec_last(&code->lines).line != line)
		vec_push(&code->lines, ((struct managed_line){unit, line, 0}));
}

static uint32_t row_line(const struct ruby_memory *m, const uint8_t *rows, uint64_t row)
{
	struct bytes b;

	bytes_init(&b, rows + row * m->layout->line_size, 4);
	return bytes_u32(&b);
}

bool ruby_read_lines(const struct ruby_memory *m, uint64_t addr, uint32_t units,
		     struct managed_code *code)
{
	_cleanup_free_ uint8_t *rows = NULL, *index = NULL;
	/* Addresses of rows and positions, number of rows, address of the index. */
	uint64_t words[4];
	size_t size;
	uint32_t count;

	if (!ruby_read_words(m, addr, words, 4))
		return false;
	count = (uint32_t)words[2];
	size = index_words(units) * 8;
	if (!count || count > ROWS_MAX || size > INDEX_MAX || !words[3])
		return false;
	rows = xmalloc((size_t)count * m->layout->line_size);
	index = xmalloc(size);
	if (!m->read(m->ctx, words[0], rows, (size_t)count * m->layout->line_size))
		return false;
	/* One row has no index to speak of. */
	if (!m->read(m->ctx, words[3], index, size))
		return false;
	vec_clear(&code->lines);
	for (uint32_t unit = 0; unit < units; unit++) {
		uint64_t row = count_rows(index, unit);

		if (row && row <= count)
			add_line(code, unit, row_line(m, rows, row - 1));
	}
	return true;
}

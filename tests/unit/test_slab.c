/* SPDX-License-Identifier: MIT */
/* Samples as columns of bytes, and in the parts of a block. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/page/slab/slab.h"
#include "lib/format/page/slab/slab_columns.h"
#include "tests/unit/test.h"

#define START (1ull << 50)

/* Packs the rows, asserts that they come back, and returns the bytes, which the caller frees. */
static unsigned char *pack(const struct sample *rows, size_t count, size_t *size)
{
	unsigned char *bytes = xmalloc(ROW_PLANES_MAX(count));
	struct sample *back = xcalloc(count + 1, sizeof(*back));

	*size = row_planes_pack(rows, count, bytes);
	assert_true(*size <= ROW_PLANES_MAX(count));
	assert_true(row_planes_unpack(bytes, *size, back, count));
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(back[i].time, rows[i].time);
		assert_int_equal(back[i].stack, rows[i].stack);
		assert_int_equal(back[i].weight, rows[i].weight);
		assert_int_equal(back[i].cpu_delta, rows[i].cpu_delta);
		assert_int_equal(back[i].cpu, rows[i].cpu);
		assert_int_equal(back[i].event, rows[i].event);
	}
	free(back);
	return bytes;
}

TEST(steady_ticks_take_few_bytes)
{
	struct sample rows[1000];
	size_t size;

	for (uint32_t i = 0; i < 1000; i++)
		rows[i] = (struct sample){START + 1001001ull * i + 7 * (i % 11),
					  70000 + i % 200,
					  1,
					  1000000 + 5 * (i % 13),
					  NO_CPU,
					  0};
	/* A byte for each of step, stack and CPU time; none for what never changes. */
	free(pack(rows, 1000, &size));
	assert_in_range(size, 3000, 3100);
}

TEST(cpu_time_follows_the_steps)
{
	struct sample rows[1000] = {{.time = START, .weight = 1}};
	size_t size;

	/* Steps of any length, all but some 100 ns of which the thread ran. */
	for (uint32_t i = 1; i < 1000; i++) {
		rows[i] = (struct sample){.weight = 1, .cpu_delta = 1000 * (i * 977 % 60000)};
		rows[i].time = rows[i - 1].time + rows[i].cpu_delta + i % 100;
	}
	rows[0].cpu_delta = rows[1].cpu_delta;
	free(pack(rows, 1000, &size));
	assert_in_range(size, 5000, 5100);
}

TEST(odd_rows)
{
	const struct sample rows[] = {
		{0, NO_STACK, 0, UINT32_MAX, 0, 0},
		{0, 0, UINT32_MAX, 0, NO_CPU, 255},
		{UINT64_MAX - 1, NO_STACK - 1, 1, 3, 1, 1},
		{UINT64_MAX, 12, 1, UINT32_MAX, 1, 0},
	};
	size_t size;

	for (size_t count = 0; count <= 4; count++)
		free(pack(rows + (4 - count), count, &size));
}

TEST(damage_is_found)
{
	struct sample rows[40], back[41];
	unsigned char *bytes;
	size_t size;

	for (uint32_t i = 0; i < 40; i++)
		rows[i] = (struct sample){START + i * i, i % 3, 1, i, 0, 0};
	bytes = pack(rows, 40, &size);
	for (size_t i = 0; i < size; i++)
		assert_false(row_planes_unpack(bytes, i, back, 40));
	assert_false(row_planes_unpack(bytes, size, back, 41));
	assert_false(row_planes_unpack(bytes, size, back, 39));
	bytes[9] = 9; /* the bytes per step */
	assert_false(row_planes_unpack(bytes, size, back, 40));
	free(bytes);
}

/* Rows of which two threads have more than a part holds. */
#define MANY_ROWS 300000u

static struct sample many_row(uint32_t i)
{
	return (struct sample){.time = START + 1000ull * i + i * 7919ull % 1000,
			       .stack = i * 31 % 5,
			       .weight = 1 + i * 53 % 70000,
			       .cpu_delta = i * 104729,
			       .cpu = (uint16_t)(i * 17)};
}

static struct profile *many_rows(void)
{
	struct profile *p = profile_new();

	for (int i = 0; i < 5; i++)
		stacks_intern(&p->stacks, NO_STACK,
			      frames_intern(&p->frames, &(struct frame){.module = NO_MODULE,
									.func = NO_FUNC,
									.symbol = NO_SYMBOL,
									.line = 1u + i}));
	for (uint32_t t = 0; t < 4; t++) {
		const struct profile_thread row = {.tid = t,
						   .name = NO_STRING,
						   .process_name = NO_STRING,
						   .process_label = NO_STRING,
						   .arguments = NO_STRING};
		thread_id id = threads_add(&p->threads, &row);

		/* The second and the last have none. */
		for (uint32_t i = 0; i < MANY_ROWS && t % 2 == 0; i++) {
			const struct sample sample = many_row(i + t);

			samples_add(&threads_get(&p->threads, id)->samples, &sample);
		}
	}
	return p;
}

static void collect(void *ctx, const void *data, size_t size)
{
	strbuf_add(ctx, data, size);
}

/* Reads what is written; returns the number of parts. */
static unsigned int copy_block(struct slab_writer *w, struct slab_reader *r, enum slab_block block)
{
	unsigned int parts = 0;
	bool has_more = true;

	for (; has_more; parts++) {
		struct strbuf bytes = {0};

		has_more = slab_write(w, block, collect, &bytes);
		assert_int_equal(slab_read(r, strbuf_text(&bytes), bytes.size, NULL), 0);
		strbuf_release(&bytes);
	}
	return parts;
}

TEST(samples_come_in_parts)
{
	struct profile *p = many_rows(), *back;
	struct slab_writer *w = slab_writer_new(p);
	struct slab_reader *r = slab_reader_new();
	uint32_t i = 0;

	for (enum slab_block block = 0; block < SLAB_BLOCK_COUNT; block++) {
		unsigned int parts = copy_block(w, r, block);

		assert_true(block == BLOCK_SAMPLES ? parts > 1 : parts == 1);
	}
	assert_int_equal(slab_reader_take(r, &back, NULL), 0);
	for (thread_id id = 0; id < 4; id++) {
		const struct samples *samples = &threads_get(&back->threads, id)->samples;

		assert_int_equal(samples_count(samples), id % 2 ? 0 : MANY_ROWS);
		i = 0;
		samples_for_each(samples, row) {
			const struct sample expected = many_row(i++ + id);

			assert_memory_equal(row, &expected, sizeof(expected));
		}
	}
	profile_free(back);
	slab_reader_free(r);
	slab_writer_free(w);
	profile_free(p);
}

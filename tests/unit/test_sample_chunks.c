/* SPDX-License-Identifier: MIT */
/* Rows in chunks against the same rows in a plain vector. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/model/tables/sample_store.h"
#include "lib/model/tables/samples.h"
#include "tests/unit/test.h"

#define ROWS 20000u
#define INTERVAL 1001001u

struct plain {
	VEC(struct sample) rows;
};

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 32) * below >> 32);
}

/* Rows as a thread has them, some of them odd. */
static struct sample draw_row(uint64_t *time)
{
	uint32_t odd = draw(100);
	struct sample row = {
		.stack = draw(4) ? draw(50) : draw(100000),
		.weight = 1,
		.cpu_delta = INTERVAL - draw(1000),
		.cpu = (uint16_t)draw(2),
	};

	*time += INTERVAL + draw(2000) - 1000;
	row.time = *time;
	if (odd == 0)
		row.time = *time - draw(20000) * (uint64_t)INTERVAL;
	else if (odd == 1)
		row.time = *time += draw(UINT32_MAX);
	else if (odd < 10)
		row = (struct sample){*time, draw(9), draw(UINT32_MAX), 0, NO_CPU, 3};
	else if (odd == 10)
		row = (struct sample){*time, NO_STACK, 0, draw(UINT32_MAX), NO_CPU, 0};
	if (row.time > *time)
		row.time = 0;
	return row;
}

static void plain_add(struct plain *p, const struct sample *row)
{
	size_t at = vec_count_front(&p->rows, it, it->time <= row->time);

	vec_push(&p->rows, *row);
	memmove(p->rows.items + at + 1, p->rows.items + at,
		(p->rows.count - 1 - at) * sizeof(*row));
	p->rows.items[at] = *row;
}

static void assert_row(const struct sample *row, const struct sample *expected)
{
	assert_int_equal(row->time, expected->time);
	assert_int_equal(row->stack, expected->stack);
	assert_int_equal(row->weight, expected->weight);
	assert_int_equal(row->cpu_delta, expected->cpu_delta);
	assert_int_equal(row->cpu, expected->cpu);
	assert_int_equal(row->event, expected->event);
}

static void assert_same(const struct samples *s, const struct plain *p)
{
	size_t at = 0;

	assert_int_equal(samples_count(s), p->rows.count);
	samples_for_each(s, row)
		assert_row(row, &p->rows.items[at++]);
	assert_int_equal(at, p->rows.count);
	samples_for_each_back(s, row)
		assert_row(row, &p->rows.items[--at]);
	assert_int_equal(at, 0);
}

static void assert_after(const struct samples *s, const struct plain *p, uint64_t time)
{
	size_t at = vec_count_front(&p->rows, it, it->time <= time);
	struct sample_iterator on = samples_after(s, time), back = samples_after(s, time);
	const struct sample *next = sample_iterator_next(&on);
	const struct sample *before = sample_iterator_before(&back);

	assert_true(!next == (at == p->rows.count));
	if (next)
		assert_row(next, &p->rows.items[at]);
	assert_true(!before == !at);
	if (before)
		assert_row(before, &p->rows.items[at - 1]);
	sample_iterator_release(&on);
	sample_iterator_release(&back);
}

/* The same, done to each row. */
static void change(struct samples *s, struct plain *p)
{
	size_t at = 0;

	samples_change_each(s, row) {
		struct sample *other = &p->rows.items[at++];

		row->stack = other->stack = row->stack == NO_STACK ? NO_STACK : row->stack / 2 + 7;
		row->cpu_delta = other->cpu_delta = row->event ? 0 : row->cpu_delta / 3 + 1;
		if (at == p->rows.count * 2 / 3)
			break;
	}
}

static void settle_plain(struct plain *p)
{
	uint64_t excess = 0;

	sample_rows_settle(p->rows.items, p->rows.count, 0, &excess);
}

static void fill(struct samples *s, struct plain *p, uint32_t count)
{
	uint64_t time = (uint64_t)1 << 40;

	for (uint32_t i = 0; i < count; i++) {
		struct sample row = draw_row(&time);

		samples_add(s, &row);
		plain_add(p, &row);
	}
}

static void check_all(uint32_t count)
{
	struct samples s = {0}, other = {0};
	struct plain p = {0}, other_rows = {0};

	fill(&s, &p, count);
	assert_same(&s, &p);
	for (int i = 0; count && i < 50; i++)
		assert_after(&s, &p, p.rows.items[draw(count)].time + draw(2) - 1);
	change(&s, &p);
	assert_same(&s, &p);
	samples_settle_cpu_deltas(&s);
	settle_plain(&p);
	assert_same(&s, &p);
	samples_close(&s);
	assert_same(&s, &p);
	fill(&other, &other_rows, count / 3);
	samples_merge(&s, &other);
	vec_for_each(&other_rows.rows, const struct sample *, row)
		plain_add(&p, row);
	assert_int_equal(samples_count(&other), 0);
	assert_same(&s, &p);
	samples_release(&s);
	vec_release(&p.rows);
	vec_release(&other_rows.rows);
}

static int keep_in_memory(void **state)
{
	sample_store_set_file(-1, SAMPLE_STORE_MAX);
	sample_store_set_room(0);
	return 0;
}

/* Room for a part of the rows, and for all. */
TEST_WITH(rows_that_are_not_packed_are_the_same, keep_in_memory, keep_in_memory)
{
	for (seed = 1; seed < 6; seed++) {
		sample_store_set_room((uint64_t)draw(ROWS) * sizeof(struct sample));
		check_all(ROWS);
	}
	sample_store_set_room(UINT64_MAX);
	check_all(ROWS);
	assert_int_equal(sample_store_in_memory(), 0);
	assert_true(sample_store_take_room(UINT64_MAX));
	sample_store_give_room(UINT64_MAX);
}

TEST_WITH(rows_are_those_of_a_plain_vector, keep_in_memory, keep_in_memory)
{
	for (seed = 1; seed < 4; seed++) {
		check_all(0);
		check_all(draw(100));
		check_all(ROWS);
	}
	assert_int_equal(sample_store_in_memory(), 0);
}

TEST_WITH(rows_in_a_file_are_the_same, keep_in_memory, keep_in_memory)
{
	sample_store_set_file(memfd_create("samples", MFD_CLOEXEC), 1000);
	seed = 9;
	check_all(ROWS);
	assert_int_equal(sample_store_in_memory(), 0);
}

/* No room in the file: they stay in memory. */
TEST_WITH(a_file_without_room_is_done_without, keep_in_memory, keep_in_memory)
{
	sample_store_set_file(open("/dev/full", O_RDWR | O_CLOEXEC), 1000);
	seed = 5;
	check_all(ROWS);
	assert_int_equal(sample_store_in_memory(), 0);
}

/* Rows of a thread that computes in a few functions. */
TEST_WITH(packed_rows_are_small, keep_in_memory, keep_in_memory)
{
	struct samples s = {0};
	uint64_t time = (uint64_t)1 << 40;
	int fd = memfd_create("samples", MFD_CLOEXEC);
	struct stat st;

	sample_store_set_file(fd, 0);
	seed = 3;
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t late = draw(2000);
		struct sample row = {
			.time = time + late,
			.stack = draw(64),
			.weight = 1,
			.cpu_delta = (uint32_t)((time + late + draw(200)) >> 4),
		};

		samples_add(&s, &row);
		time += INTERVAL;
	}
	samples_close(&s);
	assert_int_equal(fstat(fd, &st), 0);
	assert_in_range(st.st_size, ROWS, 4 * ROWS);
	samples_release(&s);
}

/* Files that are joined, and recorders with several buffers, go back in time. */
TEST_WITH(rows_go_back_in_time, keep_in_memory, keep_in_memory)
{
	for (unsigned int packed = 0; packed < 2; packed++) {
		struct samples s = {0};
		struct plain p = {0};

		sample_store_set_room(packed ? 0 : UINT64_MAX);
		for (uint32_t i = 0; i < 6 * CHUNK_ROWS; i++) {
			uint32_t time = i % (2 * CHUNK_ROWS) / 2;
			struct sample row = {.time = time, .stack = i, .weight = 1};

			samples_add(&s, &row);
			plain_add(&p, &row);
			assert_int_equal(samples_count(&s), i + 1);
			if (i == 5 * CHUNK_ROWS)
				assert_int_equal(samples_last_time(&s), CHUNK_ROWS - 1);
		}
		assert_int_equal(samples_first_time(&s), 0);
		assert_same(&s, &p);
		samples_release(&s);
		vec_release(&p.rows);
	}
	assert_int_equal(sample_store_in_memory(), 0);
}

/* Some rows are packed; the walk may end early. */
TEST_WITH(rows_are_freed_as_they_are_passed, keep_in_memory, keep_in_memory)
{
	for (uint64_t room = 1; room < 3; room++) {
		const struct sample *row;
		struct sample_iterator it;
		struct samples s = {0};

		sample_store_set_room(room * CHUNK_ROWS * sizeof(struct sample));
		for (uint32_t i = 0; i < ROWS; i++)
			samples_add(&s, &(struct sample){.time = i, .stack = i, .weight = 1});
		it = samples_begin_free(&s);
		for (uint32_t i = 0;
		     i < ROWS - room * CHUNK_ROWS && (row = sample_iterator_next(&it)); i++)
			assert_int_equal(row->stack, i);
		assert_true(sample_store_take_room(room * CHUNK_ROWS * sizeof(struct sample)));
		sample_store_give_room(room * CHUNK_ROWS * sizeof(struct sample));
		sample_iterator_release(&it);
		samples_release(&s);
		assert_int_equal(sample_store_in_memory(), 0);
	}
}

static int count_rows(const struct samples *s, uint32_t until)
{
	int count = 0;

	samples_for_each(s, row) {
		if (row->stack == until)
			return count;
		count++;
	}
	return -count;
}

TEST_WITH(loops_may_be_left, keep_in_memory, keep_in_memory)
{
	struct samples s = {0};
	int rounds = 0;

	for (uint32_t i = 0; i < 10000; i++)
		samples_add(&s, &(struct sample){.time = i, .stack = i, .weight = 1});
	assert_int_equal(count_rows(&s, 9000), 9000);
	assert_int_equal(count_rows(&s, 20000), -10000);
	samples_for_each(&s, row) {
		if (row->stack % 2)
			continue;
		if (++rounds == 3000)
			break;
	}
	assert_int_equal(rounds, 3000);
	samples_release(&s);
}

/*
 * A busy thread's rows, of a clock that jitters by microseconds. Another thread takes the CPU now
 * and then; one such row must not make those after it larger.
 */
static void draw_busy_rows(struct sample *rows, uint32_t count, bool are_readings)
{
	uint64_t time = 1, used = 0, start;

	for (uint32_t i = 0; i < count; i++) {
		start = time;
		time = (i + 1) * (uint64_t)INTERVAL + draw(4000);
		rows[i] = (struct sample){.time = time, .stack = draw(30), .weight = 1};
		rows[i].cpu_delta = (uint32_t)(time - start) / 16 * 16;
		if (draw(10) == 0)
			rows[i].cpu_delta = draw(INTERVAL) / 16 * 16 + 16;
		used += rows[i].cpu_delta;
		if (are_readings)
			rows[i].cpu_delta = (uint32_t)(used / 16);
	}
}

static double bytes_a_row(const struct sample *rows, uint32_t count)
{
	unsigned char *bytes = malloc(SAMPLE_PACK_MAX(count));
	size_t size = sample_pack(rows, count, bytes);

	free(bytes);
	return (double)size / count;
}

TEST(rows_of_a_busy_machine_take_four_bytes)
{
	static struct sample rows[CHUNK_ROWS];

	for (int are_readings = 0; are_readings < 2; are_readings++) {
		draw_busy_rows(rows, CHUNK_ROWS, are_readings);
		print_message("%.2f bytes a row\n", bytes_a_row(rows, CHUNK_ROWS));
		assert_true(bytes_a_row(rows, CHUNK_ROWS) <= 4);
	}
}

/* SPDX-License-Identifier: MIT */
/* Samples that wait for their stacks: how many, with what, and what happens to the others. */
#include <string.h>

#include "lib/stream/session/sample_feed.h"
#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull

static bool wait_for(struct pending *p, uint32_t stack, struct mapping_table *mappings)
{
	const struct pending_sample sample = {.rec.stack_id = stack, .mappings = mappings};

	return pending_add(p, &sample);
}

static uint32_t leave(struct pending *p, uint32_t stack)
{
	struct pending_sample sample;
	uint32_t count = 0;

	for (; pending_take(p, stack, &sample); count++)
		mapping_table_drop(sample.mappings);
	return count;
}

static void fill(struct mapping_table **table, uint32_t rows, uint64_t *stamp)
{
	for (uint64_t i = 0; i < rows; i++) {
		const struct mapping mapping = {.start = i * 0x2000, .end = i * 0x2000 + 0x1000};

		mapping_table_insert(table, &mapping, ++*stamp);
	}
}

TEST(their_number_is_bounded)
{
	struct mapping_table *mappings = mapping_table_new();
	struct pending p = {0};

	for (uint32_t i = 0; i < PENDING_SAMPLES_MAX; i++)
		assert_true(wait_for(&p, i % 1000, mappings));
	assert_false(wait_for(&p, 7, mappings));
	assert_int_equal(leave(&p, 7),
			 PENDING_SAMPLES_MAX / 1000 + (PENDING_SAMPLES_MAX % 1000 > 7));
	assert_int_equal(leave(&p, 7), 0);
	/* There is as much room as before. */
	assert_true(wait_for(&p, 5000, mappings));
	assert_int_equal(p.rows.count, PENDING_SAMPLES_MAX);
	assert_int_equal(leave(&p, 5000), 1);
	pending_release(&p);
	assert_int_equal(mappings->holders, 1);
	mapping_table_drop(mappings);
}

/* Each sample holds the mappings of its time, which may be large and different each time. */
TEST(so_is_what_they_hold)
{
	struct mapping_table *mappings = mapping_table_new();
	struct pending p = {0};
	uint32_t count = 0;
	uint64_t stamp = 0;
	size_t size;

	fill(&mappings, 10000, &stamp);
	size = 10000 * sizeof(struct mapping);
	/* Equal mappings are held once. */
	while (wait_for(&p, 1, mappings) && wait_for(&p, 2, mappings)) {
		struct mapping more = {.start = 0xffff0000 + count, .end = 0xffff0001 + count};

		assert_true(mapping_table_insert(&mappings, &more, ++stamp));
		assert_in_range(++count, 1, 2 * PENDING_MAPPINGS_MAX / size);
	}
	assert_in_range(count, PENDING_MAPPINGS_MAX / size * 9 / 10, PENDING_MAPPINGS_MAX / size);
	assert_true(p.mappings_size > PENDING_MAPPINGS_MAX);
	assert_int_equal(leave(&p, 2), count);
	assert_true(p.mappings_size > PENDING_MAPPINGS_MAX);
	assert_int_equal(leave(&p, 1), count + 1);
	assert_int_equal(p.mappings_size, 0);
	assert_true(wait_for(&p, 1, mappings));
	pending_release(&p);
	mapping_table_drop(mappings);
}

static const struct marker *only_loss(struct fed *f)
{
	const struct profile_thread *row = fed_thread(f, 10, 0, 10);
	const struct marker *only = NULL;

	vec_for_each(&row->markers, const struct marker *, marker) {
		if (marker->schema != MARKER_LOST)
			continue;
		assert_null(only);
		only = marker;
	}
	assert_non_null(only);
	return only;
}

static void feed_waiting(struct fed *f, uint64_t time, uint16_t cpu)
{
	struct rec_sample rec = {.leaf = 0x1000, .stack_id = 77};

	record_init(&rec.rec, REC_SAMPLE, sizeof(rec), SESSION_START_NS + time, 10, 10);
	rec.rec.weight = 1;
	rec.rec.cpu = cpu;
	session_feed(f->s, &rec.rec);
}

TEST_WITH(what_finds_no_room_is_lost_on_its_cpu, fed_setup, fed_teardown)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101};
	const struct marker *marker;

	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	for (uint32_t i = 0; i < PENDING_SAMPLES_MAX; i++)
		feed_waiting(f, MS, 1);
	for (uint32_t i = 0; i < 5; i++)
		feed_waiting(f, 2 * MS, 3);
	feed_stack(f, 3 * MS, 77, STACK_WHOLE, addrs, 0, 1, NULL);
	feed_end(f, 10 * MS);
	assert_int_equal(f->p->stats.cpu_samples, PENDING_SAMPLES_MAX);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 5);
	assert_int_equal(f->p->cpu_losses.count, 1);
	assert_int_equal(f->p->cpu_losses.items[0].cpu, 3);
	assert_int_equal(f->p->cpu_losses.items[0].samples, 5);
	marker = only_loss(f);
	fed_expect_number(f, marker, LOST_CPU, 3);
	fed_expect_number(f, marker, LOST_COUNT, 5);
	assert_int_equal(marker->start, SESSION_START_NS + 2 * MS);
	fed_expect_text(f, marker, LOST_REASON, "stack");
}

TEST_WITH(what_waits_in_vain_is_lost_on_its_cpu, fed_setup, fed_teardown)
{
	struct fed *f = *state;
	const struct marker *marker;

	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	feed_waiting(f, 4 * MS, 6);
	feed_end(f, 10 * MS);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 1);
	marker = only_loss(f);
	fed_expect_number(f, marker, LOST_CPU, 6);
	assert_int_equal(marker->start, SESSION_START_NS + 4 * MS);
}

/* The end of the recording is the end for samples of a damaged capture, too. */
TEST_WITH(the_last_time_there_is_is_no_exception, fed_setup, fed_teardown)
{
	struct fed *f = *state;

	feed_waiting(f, UINT64_MAX - SESSION_START_NS, 1);
	feed_end(f, 10 * MS);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 1);
}

/* SPDX-License-Identifier: MIT */
/* Times without sampling: pairs of events become intervals, by event and CPU. */
#include <string.h>

#include "lib/live/perf/event_fds.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

struct seen {
	struct rec_throttled rows[16];
	size_t count;
};

static void see(void *ctx, const struct rec *rec)
{
	struct seen *seen = ctx;

	assert_true(record_is_valid(rec, sizeof(struct rec_throttled)));
	assert_int_equal(rec->kind, REC_THROTTLED);
	assert_in_range(seen->count, 0, 15);
	memcpy(&seen->rows[seen->count++], rec, sizeof(struct rec_throttled));
}

static void take(struct throttling *t, enum map_event_kind kind, uint64_t id, uint64_t time)
{
	const struct map_event event = {.kind = kind, .event_id = id, .time = time};

	throttling_take(t, &event);
}

static void expect_row(const struct rec_throttled *row, uint32_t event, uint16_t cpu,
		       uint64_t start, uint64_t end)
{
	assert_int_equal(row->event, event);
	assert_int_equal(row->rec.cpu, cpu);
	assert_int_equal(row->rec.time, end);
	assert_int_equal(row->duration, end - start);
}

TEST(each_event_has_its_own_intervals)
{
	struct seen seen = {0};
	struct throttling t;

	throttling_init(&t, see, &seen);
	throttling_add(&t, 70, 0, 3);
	throttling_add(&t, 71, 2, 3);
	throttling_add(&t, 72, 0, 5);
	take(&t, MAP_EVENT_THROTTLED, 70, 1000);
	take(&t, MAP_EVENT_THROTTLED, 72, 1100);
	take(&t, MAP_EVENT_THROTTLED, 71, 1200);
	assert_int_equal(seen.count, 0);
	take(&t, MAP_EVENT_SAMPLED, 71, 1500);
	take(&t, MAP_EVENT_SAMPLED, 70, 1600);
	take(&t, MAP_EVENT_THROTTLED, 70, 1700);
	take(&t, MAP_EVENT_SAMPLED, 70, 1900);
	assert_int_equal(seen.count, 3);
	expect_row(&seen.rows[0], 2, 3, 1200, 1500);
	expect_row(&seen.rows[1], 0, 3, 1000, 1600);
	expect_row(&seen.rows[2], 0, 3, 1700, 1900);
	/* An event that is stopped at the end stays stopped. */
	throttling_finish(&t, 2000);
	assert_int_equal(seen.count, 4);
	expect_row(&seen.rows[3], 0, 5, 1100, 2000);
	throttling_finish(&t, 2000);
	assert_int_equal(seen.count, 4);
	throttling_release(&t);
}

TEST(halves_of_pairs_are_no_intervals)
{
	struct seen seen = {0};
	struct throttling t;

	throttling_init(&t, see, &seen);
	throttling_add(&t, 70, 0, 1);
	take(&t, MAP_EVENT_SAMPLED, 70, 900);
	take(&t, MAP_EVENT_THROTTLED, 99, 950);
	take(&t, MAP_EVENT_SAMPLED, 99, 960);
	assert_int_equal(seen.count, 0);
	/* A record in between was lost: the duration is unknown. */
	take(&t, MAP_EVENT_THROTTLED, 70, 1000);
	take(&t, MAP_EVENT_THROTTLED, 70, 5000);
	assert_int_equal(seen.count, 1);
	expect_row(&seen.rows[0], 0, 1, 1000, 1000);
	/* A clock that goes back does not make an interval of 500 years. */
	take(&t, MAP_EVENT_SAMPLED, 70, 4000);
	assert_int_equal(seen.count, 2);
	expect_row(&seen.rows[1], 0, 1, 5000, 5000);
	throttling_release(&t);
}

TEST(a_cpu_without_interrupts_has_nothing_to_do)
{
	struct seen seen = {0};
	struct throttling t;

	throttling_init(&t, see, &seen);
	throttling_add(&t, 70, 0, 1);
	take(&t, MAP_EVENT_THROTTLED, 70, 1000);
	take(&t, MAP_EVENT_SAMPLED, 70, 1000 + 9 * THROTTLED_MAX_NS);
	assert_int_equal(seen.count, 1);
	expect_row(&seen.rows[0], 0, 1, 1000, 1000 + THROTTLED_MAX_NS);
	throttling_release(&t);
}

TEST(a_cpu_that_goes_ends_its_intervals)
{
	struct seen seen = {0};
	struct throttling t;

	throttling_init(&t, see, &seen);
	throttling_add(&t, 70, 0, 1);
	throttling_add(&t, 71, 1, 1);
	throttling_add(&t, 80, 0, 2);
	take(&t, MAP_EVENT_THROTTLED, 71, 1000);
	take(&t, MAP_EVENT_THROTTLED, 80, 1000);
	throttling_forget(&t, 1, 1300);
	assert_int_equal(seen.count, 1);
	expect_row(&seen.rows[0], 1, 1, 1000, 1300);
	take(&t, MAP_EVENT_THROTTLED, 70, 1400);
	throttling_finish(&t, 1500);
	assert_int_equal(seen.count, 2);
	expect_row(&seen.rows[1], 0, 2, 1000, 1500);
	/* Rows of closed events are used again for new ids. */
	for (uint64_t id = 100; id < 200; id++) {
		throttling_add(&t, id, 0, 1);
		take(&t, MAP_EVENT_THROTTLED, id, 2000);
		seen.count = 0;
		throttling_forget(&t, 1, 2001);
		assert_int_equal(seen.count, 1);
	}
	assert_int_equal(t.rows.count, 3);
	throttling_release(&t);
}

/* SPDX-License-Identifier: MIT */
/* Records of counters: rates and levels. */
#include "bpf/record.h"
#include "lib/live/instruments/counters/machine_counters.h"
#include "lib/model/facts/facts.h"
#include "tests/unit/test.h"

struct sent {
	int64_t deltas[16];
	size_t count;
};

static void note(void *ctx, const struct rec *rec)
{
	struct sent *sent = ctx;

	if (rec->kind != REC_COUNTER)
		return;
	assert_true(sent->count < sizeof(sent->deltas) / sizeof(sent->deltas[0]));
	sent->deltas[sent->count++] = ((const struct rec_counter *)rec)->delta;
}

/* Sends the values, a pass each. */
static void send_all(struct sent *sent, enum counter_graph graph, const int64_t *values,
		     size_t count, size_t resuming)
{
	const struct counter_schema schema = {"n", "c", "d", "", "blue", graph};
	struct counter_values t = {.sink = note, .ctx = sent};
	struct sent_counter counter = {0};

	*sent = (struct sent){0};
	for (size_t i = 0; i < count; i++) {
		t.is_resuming = i == resuming;
		counter_values_send(&t, &counter, &schema, 1, values[i], i + 1);
		t.last_ns = i + 1;
	}
}

static void expect(const struct sent *sent, const int64_t *deltas, size_t count)
{
	assert_int_equal(sent->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sent->deltas[i], deltas[i]);
}

TEST(a_rate_that_goes_back_is_zero)
{
	const int64_t values[] = {10, 15, 3, 7};
	struct sent sent;

	send_all(&sent, COUNTER_RATE, values, 4, SIZE_MAX);
	expect(&sent, (const int64_t[]){0, 5, 0, 4}, 4);
}

TEST(a_rate_leaves_out_a_pause)
{
	const int64_t values[] = {10, 15, 65, 66};
	struct sent sent;

	send_all(&sent, COUNTER_RATE, values, 4, 2);
	expect(&sent, (const int64_t[]){0, 5, 0, 1}, 4);
}

TEST(a_level_falls)
{
	const int64_t values[] = {10, 15, 3};
	struct sent sent;

	send_all(&sent, COUNTER_LEVEL, values, 3, SIZE_MAX);
	expect(&sent, (const int64_t[]){10, 5, -12}, 3);
}

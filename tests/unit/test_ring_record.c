/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "lib/live/bpf/ring.h"
#include "lib/stream/record/merge.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

static const struct {
	unsigned int kind;
	size_t size;
} live_kinds[] = {
#define LIVE_RECORD(kind, type, size, needed) {REC_##kind, size},
	LIVE_RECORDS(LIVE_RECORD)
#undef LIVE_RECORD
};
#define LIVE_KIND_COUNT (sizeof(live_kinds) / sizeof(*live_kinds))

static uint64_t buffer[512];

/* Makes a record of that kind that is just large enough. */
static struct rec *make(unsigned int kind, size_t size)
{
	struct rec *rec = (struct rec *)buffer;

	memset(buffer, 0, sizeof(buffer));
	record_init(rec, kind, size, 1, 2, 3);
	return rec;
}

TEST(kinds_of_the_recorder_are_valid_in_rings_alone)
{
	for (size_t i = 0; i < LIVE_KIND_COUNT; i++) {
		struct rec *rec = make(live_kinds[i].kind, live_kinds[i].size);

		assert_true(ring_record_is_valid(rec, live_kinds[i].size));
		assert_false(ring_record_is_valid(rec, live_kinds[i].size - 1));
		assert_false(record_is_valid(rec, sizeof(buffer)));
		rec->words--;
		assert_false(ring_record_is_valid(rec, sizeof(buffer)));
	}
	assert_true(ring_record_is_valid(make(REC_CPU, 24), 24));
	assert_false(ring_record_is_valid(make(REC_KIND_COUNT, 24), 24));
	assert_false(ring_record_is_valid(make(REC_LIVE - 1, 24), 24));
	assert_false(ring_record_is_valid(make(LIVE_REC_END, 512), 512));
	assert_false(ring_record_is_valid(make(REC_CPU, 24), 23));
}

TEST(kinds_of_the_recorder_do_not_pass_the_merge)
{
	struct merge *m = merge_new();

	merge_begin_round(m, 1);
	for (size_t i = 0; i < LIVE_KIND_COUNT; i++)
		assert_false(merge_add(m, make(live_kinds[i].kind, live_kinds[i].size)));
	assert_int_equal(merge_size(m), 0);
	assert_true(merge_add(m, make(REC_CPU, 24)));
	merge_finish(m);
	assert_int_equal(merge_next(m)->kind, REC_CPU);
	assert_null(merge_next(m));
	merge_free(m);
}

TEST(a_copy_must_hold_what_it_announces)
{
	struct rec_copy *copy = (struct rec_copy *)make(REC_COPY, sizeof(*copy) + 24);

	copy->kernel_depth = 2;
	copy->stack_size = 8;
	assert_true(ring_record_is_valid(&copy->rec, sizeof(buffer)));
	copy->stack_size = 9;
	assert_false(ring_record_is_valid(&copy->rec, sizeof(buffer)));
	copy->stack_size = 0xffffffff;
	assert_false(ring_record_is_valid(&copy->rec, sizeof(buffer)));
}

TEST(an_exec_must_hold_what_it_announces)
{
	struct rec_exec *exec = (struct rec_exec *)make(REC_EXEC, sizeof(*exec) + 16);

	exec->folder_size = 4;
	exec->arguments_size = 12;
	assert_true(ring_record_is_valid(&exec->rec, sizeof(buffer)));
	exec->arguments_size = 13;
	assert_false(ring_record_is_valid(&exec->rec, sizeof(buffer)));
}

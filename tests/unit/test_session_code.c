/* SPDX-License-Identifier: MIT */
/* Generated code: the name of an address by process and time. */

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define EXACT true
#define MANY 5000

static void feed_code(struct fed *f, uint64_t time, uint32_t pid, uint64_t since, bool is_exact,
		      uint64_t start, uint64_t size, const char *name)
{
	size_t words = rec_code_size(0, strlen(name)) / 8;
	_cleanup_free_ struct rec_code *rec = calloc(words, 8);

	record_init(&rec->rec, REC_CODE, words * 8, SESSION_START_NS + time, pid, pid);
	rec->rec.flags = is_exact ? CODE_EXACT : 0;
	rec->since = SESSION_START_NS + since;
	rec->start = start;
	rec->size = size;
	rec->text_size = (uint32_t)strlen(name);
	memcpy((char *)rec_code_text(rec), name, strlen(name));
	assert_true(record_is_valid(&rec->rec, words * 8));
	session_feed(f->s, &rec->rec);
}

static void begin(struct fed *f, uint32_t pid)
{
	feed_name(f, 0, pid, pid, NAME_SCAN, "jit");
	feed_map(f, 0, pid, 0x1000, 0x9000, 0, NO_REC_MODULE);
}

/* Returns the function of sample `index`'s innermost frame; NULL: none. */
static const char *leaf_name(struct fed *f, uint32_t pid, size_t index)
{
	const struct profile_thread *row = fed_thread(f, pid, 0, pid);
	stack_id stack = row->samples.open.items[index].stack;
	const struct frame *frame = frames_get(&f->p->frames, f->p->stacks.rows.items[stack].frame);

	return frame->func == NO_FUNC
		       ? NULL
		       : strings_get(&f->p->strings, f->p->funcs.rows.items[frame->func].name);
}

static enum symbol_reason anon_reason(struct fed *f, uint32_t pid)
{
	vec_for_each(&f->p->modules.rows, const struct module *, module) {
		if (module->kind == PROFILE_MODULE_ANON && module->pid == pid)
			return module->reason;
	}
	return SYMBOL_REASON_COUNT;
}

#define CASE(name) TEST_WITH(name, fed_setup, fed_teardown)

CASE(by_the_time_of_the_sample)
{
	struct fed *f = *state;

	begin(f, 10);
	for (uint64_t time = 1; time <= 6; time++)
		feed_leaf(f, time, 10, 10, 0x2008);
	feed_code(f, 7, 10, 2, EXACT, 0x2000, 0x10, "a");
	feed_code(f, 7, 10, 4, EXACT, 0x2008, 0x10, "b");
	feed_code(f, 7, 10, 5, EXACT, 0x2000, 0x8, "beside");
	/* Described in another order than it happened. */
	feed_code(f, 7, 10, 3, EXACT, 0x1ff0, 0x20, "c");
	feed_end(f, 8);
	assert_null(leaf_name(f, 10, 0));
	assert_string_equal(leaf_name(f, 10, 1), "a");
	assert_string_equal(leaf_name(f, 10, 2), "c");
	assert_string_equal(leaf_name(f, 10, 3), "b");
	assert_string_equal(leaf_name(f, 10, 4), "b");
	assert_string_equal(leaf_name(f, 10, 5), "b");
	assert_int_equal(anon_reason(f, 10), SYMBOLS_FOUND);
}

CASE(maps_without_times)
{
	struct fed *f = *state;

	begin(f, 10);
	feed_leaf(f, 1, 10, 10, 0x2000);
	feed_leaf(f, 3, 10, 10, 0x2000);
	feed_leaf(f, 3, 10, 10, 0x200f);
	feed_leaf(f, 3, 10, 10, 0x2010);
	/* Noticed late: as far as anybody knows, it was there before. */
	feed_code(f, 4, 10, 2, false, 0x2000, 0x10, "a");
	feed_code(f, 4, 10, 2, false, 0x2000, 0x10, "b");
	feed_end(f, 5);
	assert_string_equal(leaf_name(f, 10, 0), "a");
	assert_string_equal(leaf_name(f, 10, 1), "b");
	assert_string_equal(leaf_name(f, 10, 2), "b");
	assert_null(leaf_name(f, 10, 3));
}

CASE(of_another_program_or_process)
{
	struct fed *f = *state;

	begin(f, 10);
	feed_leaf(f, 1, 10, 10, 0x2000);
	feed_code(f, 2, 10, 0, false, 0x2000, 0x10, "a");
	feed_fork(f, 3, 11, 11, 10, "child");
	feed_leaf(f, 4, 11, 11, 0x2000);
	/* The parent's code, as of the fork. */
	feed_leaf(f, 5, 11, 11, 0x3000);
	feed_code(f, 5, 10, 4, EXACT, 0x3000, 0x10, "later");
	feed_name(f, 6, 10, 10, NAME_NEW_SPACE, "");
	feed_map(f, 6, 10, 0x1000, 0x9000, 0, NO_REC_MODULE);
	feed_leaf(f, 7, 10, 10, 0x2000);
	feed_leaf(f, 7, 10, 10, 0x3000);
	feed_code(f, 8, 10, 0, false, 0x3000, 0x10, "new");
	begin(f, 12);
	feed_leaf(f, 8, 12, 12, 0x2000);
	feed_end(f, 9);
	assert_string_equal(leaf_name(f, 10, 0), "a");
	assert_null(leaf_name(f, 10, 1));
	assert_string_equal(leaf_name(f, 10, 2), "new");
	assert_string_equal(leaf_name(f, 11, 0), "a");
	assert_null(leaf_name(f, 11, 1));
	assert_null(leaf_name(f, 12, 0));
	assert_int_equal(anon_reason(f, 11), SYMBOLS_FOUND);
	assert_int_equal(anon_reason(f, 12), SYMBOLS_NO_CODE_MAP);
}

/* One stack on the wire becomes several in the profile, and the other way round. */
CASE(whole_stacks)
{
	static const uint64_t addrs[] = {0x2001, 0x3001, 0x8001};
	struct fed *f = *state;
	const struct profile_thread *row;

	begin(f, 10);
	feed_stack(f, 1, 1, STACK_WHOLE, addrs, 0, 3, NULL);
	for (uint64_t time = 1; time <= 4; time++)
		feed_sample(f, time, 10, 10, 0, 0x4000, 1, 0);
	feed_code(f, 5, 10, 0, EXACT, 0x2000, 0x10, "a");
	feed_code(f, 5, 10, 3, EXACT, 0x3000, 0x10, "b");
	feed_code(f, 5, 10, 0, EXACT, 0x4000, 0x10, "leaf");
	feed_code(f, 5, 10, 0, EXACT, 0x6000, 0x10, "never sampled");
	feed_end(f, 6);
	row = fed_thread(f, 10, 0, 10);
	assert_int_equal(row->samples.open.items[0].stack, row->samples.open.items[1].stack);
	assert_int_not_equal(row->samples.open.items[1].stack, row->samples.open.items[2].stack);
	assert_int_equal(row->samples.open.items[2].stack, row->samples.open.items[3].stack);
	/* The outermost frame is shared; rows without samples are gone. */
	assert_int_equal(f->p->stacks.rows.count, 7);
	assert_int_equal(f->p->frames.rows.count, 5);
	assert_int_equal(f->p->funcs.rows.count, 3);
}

/* Absurd maps end in nameless frames, soon. */
CASE(maps_that_overlap_without_end)
{
	struct fed *f = *state;

	feed_name(f, 0, 10, 10, NAME_SCAN, "jit");
	feed_map(f, 0, 10, 0x1000, 0x100000, 0, NO_REC_MODULE);
	for (uint64_t i = 0; i < MANY; i++) {
		feed_leaf(f, i, 10, 10, 0x1000 + i);
		feed_code(f, i, 10, i, false, 1, UINT64_MAX - 2, "all");
	}
	feed_code(f, MANY, 10, 0, false, UINT64_MAX, 2, "wrapped");
	feed_code(f, MANY, 10, 0, false, 0x1000, 0, "empty");
	feed_end(f, MANY);
	assert_string_equal(leaf_name(f, 10, 0), "all");
	assert_int_equal(f->p->funcs.rows.count, 1);
}

/* SPDX-License-Identifier: MIT */
/*
 * A stack that continues another one resolves to the same frames whether the other was resolved
 * before or not.
 */
#include "lib/stream/session/sample_feed.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define STACKS 40
#define ROUNDS 400
#define OWN_MAX 6
#define UNKNOWN_KIND 200

/* Code is at 0x1000 to 0x5000 in a module, and at 0x8000 in memory without a file, nowhere else. */
#define CODE_END 0x9000

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

/* A resolver with the seed's stacks, each of which may continue an earlier one. */
static void make(struct resolver *r, struct profile *profile, uint32_t seed)
{
	resolver_init(r, profile);
	for (uint32_t id = 1; id <= STACKS; id++) {
		uint16_t kernel_depth = next_random(&seed) % 3 ? 0 : next_random(&seed) % 3;
		uint16_t user_depth = next_random(&seed) % OWN_MAX;
		uint64_t addrs[2 + OWN_MAX];
		uint8_t kinds[2 + OWN_MAX];

		for (unsigned int i = 0; i < kernel_depth + user_depth; i++) {
			bool is_far = next_random(&seed) % 16 == 0;

			addrs[i] = next_random(&seed) % 32 * 16 + (is_far ? CODE_END : 0x1000) +
				   (next_random(&seed) % 8 ? 0 : 0x7000);
			kinds[i] = next_random(&seed) % 6 ? FRAME_NATIVE : FRAME_SIGNAL;
			if (next_random(&seed) % 16 == 0)
				kinds[i] = UNKNOWN_KIND;
			if (i < kernel_depth) {
				addrs[i] |= 0xffffffff80000000;
				kinds[i] = FRAME_KERNEL;
			}
		}

		_cleanup_free_ struct rec_stack *rec = stack_record_new(addrs, kinds, kernel_depth,
									user_depth);

		rec->rec.flags = next_random(&seed) % 4 ? 0 : STACK_USER_PC;
		rec->stack_id = id;
		rec->prefix_id = next_random(&seed) % 8 ? next_random(&seed) % id : 0;
		rec->prefix_skip = (uint16_t)(next_random(&seed) % 5);
		assert_int_not_equal(raw_stacks_add(&r->raw, rec), NO_RAW_STACK);
	}
}

static struct mapping_table *make_mappings(void)
{
	struct mapping_table *table = mapping_table_new();
	struct mapping code = {.start = 0x1000, .end = 0x5000, .module = 7};
	struct mapping memory = {.start = 0x8000, .end = CODE_END, .module = MAPPING_ANON};

	mapping_table_insert(&table, &code, 1);
	mapping_table_insert(&table, &memory, 2);
	return table;
}

static void assert_same_stacks(const struct profile *a, stack_id x, const struct profile *b,
			       stack_id y)
{
	while (x != NO_STACK && y != NO_STACK) {
		const struct stack *s = &a->stacks.rows.items[x], *t = &b->stacks.rows.items[y];
		const struct frame *f = &a->frames.rows.items[s->frame];
		const struct frame *g = &b->frames.rows.items[t->frame];

		assert_int_equal(f->offset, g->offset);
		assert_int_equal(f->kind, g->kind);
		assert_int_equal(f->module == 7, g->module == 7);
		assert_int_equal(f->module == NO_MODULE, g->module == NO_MODULE);
		x = s->parent;
		y = t->parent;
	}
	assert_int_equal(x, y);
}

/* Resolves it in a resolver that has resolved nothing else. */
static stack_id resolve_alone(struct profile *profile, uint32_t seed, raw_stack_id id,
			      const struct mapping_table *mappings, struct stack_extent *extent)
{
	struct process process = {.anon = NO_MODULE};
	struct resolver r;
	stack_id stack;

	make(&r, profile, seed);
	stack = resolver_stack(&r, id, &process, mappings, extent);
	resolver_release(&r);
	return stack;
}

TEST(what_was_resolved_before_makes_no_difference)
{
	struct mapping_table *mappings = make_mappings();

	for (uint32_t seed = 1; seed <= ROUNDS; seed++) {
		struct process process = {.anon = NO_MODULE};
		struct profile *profile = profile_new(), *other = profile_new();
		struct resolver r;
		raw_stack_id id = seed % STACKS;
		struct stack_extent extent, other_extent;
		stack_id stack, alone;

		make(&r, profile, seed);
		if (id >= r.raw.rows.count)
			id = (raw_stack_id)r.raw.rows.count - 1;
		for (raw_stack_id i = 0; i < id; i++)
			resolver_stack(&r, i, &process, mappings, &extent);
		stack = resolver_stack(&r, id, &process, mappings, &extent);
		alone = resolve_alone(other, seed, id, mappings, &other_extent);
		assert_int_equal(extent.user_depth, other_extent.user_depth);
		assert_int_equal(extent.unknown_depth, other_extent.unknown_depth);
		assert_int_equal(extent.has_user_frame, other_extent.has_user_frame);
		assert_same_stacks(profile, stack, other, alone);
		resolver_release(&r);
		profile_free(profile);
		profile_free(other);
	}
	mapping_table_drop(mappings);
}

/* A resolver with one stack, which it resolves. */
static stack_id resolve_one(struct resolver *r, struct profile *profile, const uint64_t *addrs,
			    const uint8_t *kinds, uint16_t kernel_depth, uint16_t user_depth,
			    struct stack_extent *extent)
{
	_cleanup_free_ struct rec_stack *rec = stack_record_new(addrs, kinds, kernel_depth,
								user_depth);
	struct mapping_table *mappings = make_mappings();
	struct process process = {.anon = NO_MODULE};
	stack_id stack;

	resolver_init(r, profile);
	rec->stack_id = 1;
	stack = resolver_stack(r, raw_stacks_add(&r->raw, rec), &process, mappings, extent);
	mapping_table_drop(mappings);
	resolver_release(r);
	return stack;
}

TEST(frames_of_unknown_kinds_are_left_out)
{
	const uint64_t addrs[] = {0x1001, 0x1101, 0x9999999, 0x1201, 0x9999999, 0x1301};
	const uint8_t kinds[] = {FRAME_NATIVE, FRAME_KERNEL, UNKNOWN_KIND,
				 FRAME_NATIVE, FRAME_NATIVE, FRAME_NATIVE};
	const uint64_t expected[] = {0x200, 0};
	struct profile *profile = profile_new();
	struct stack_extent extent;
	struct resolver r;
	stack_id stack;

	stack = resolve_one(&r, profile, addrs, kinds, 0, 6, &extent);
	/* The stack ends at native code outside of mappings, and only there. */
	assert_int_equal(extent.user_depth, 4);
	assert_int_equal(extent.unknown_depth, 2);
	assert_true(extent.has_user_frame);
	for (size_t i = 0; i < 2; i++) {
		const struct stack *row = &profile->stacks.rows.items[stack];

		assert_int_equal(frames_get(&profile->frames, row->frame)->offset, expected[1 - i]);
		stack = row->parent;
	}
	assert_int_equal(stack, NO_STACK);
	profile_free(profile);
}

/* The kernel's part of a stack has no process code, and the process's part no kernel code. */
TEST(kinds_in_the_wrong_part_are_unknown)
{
	const uint64_t addrs[] = {0x1001, 0xffffffff81000001, 0xffffffff81000001};
	const uint8_t kinds[] = {FRAME_NATIVE, FRAME_KERNEL, FRAME_KERNEL};
	struct profile *profile = profile_new();
	struct stack_extent extent;
	struct resolver r;
	stack_id stack;

	stack = resolve_one(&r, profile, addrs, kinds, 2, 1, &extent);
	assert_int_equal(extent.user_depth, 1);
	assert_int_equal(extent.unknown_depth, 2);
	assert_false(extent.has_user_frame);
	assert_int_not_equal(stack, NO_STACK);
	assert_int_equal(profile->stacks.rows.items[stack].parent, NO_STACK);
	profile_free(profile);
}

/* The rest of a stack is unknown if the stack that it continues was lost. */
TEST(a_stack_whose_continuation_is_unknown_is_refused)
{
	const uint64_t addrs[] = {0x1010, 0x1020};
	const uint8_t kinds[] = {FRAME_NATIVE, FRAME_NATIVE};
	_cleanup_free_ struct rec_stack *rec = stack_record_new(addrs, kinds, 0, 2);
	struct profile *profile = profile_new();
	struct resolver r;

	resolver_init(&r, profile);
	rec->stack_id = 2;
	rec->prefix_id = 1;
	assert_int_equal(raw_stacks_add(&r.raw, rec), NO_RAW_STACK);
	assert_int_equal(raw_stacks_find(&r.raw, 2), NO_RAW_STACK);
	rec->prefix_id = 0;
	assert_int_not_equal(raw_stacks_add(&r.raw, rec), NO_RAW_STACK);
	resolver_release(&r);
	profile_free(profile);
}

/* Ids come again: the last stack of one is meant. */
TEST(an_id_that_is_used_again_is_the_new_stack)
{
	const uint64_t addrs[] = {0x1010, 0x1020};
	const uint8_t kinds[] = {FRAME_NATIVE, FRAME_NATIVE};
	_cleanup_free_ struct rec_stack *one = stack_record_new(addrs, kinds, 0, 1);
	_cleanup_free_ struct rec_stack *two = stack_record_new(addrs, kinds, 0, 2);
	struct profile *profile = profile_new();
	struct resolver r;
	raw_stack_id first, second;

	resolver_init(&r, profile);
	one->stack_id = two->stack_id = 1;
	first = raw_stacks_add(&r.raw, one);
	second = raw_stacks_add(&r.raw, two);
	assert_int_not_equal(first, second);
	assert_int_equal(raw_stacks_find(&r.raw, 1), second);
	resolver_release(&r);
	profile_free(profile);
}

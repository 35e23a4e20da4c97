/* SPDX-License-Identifier: MIT */
/* Samples: their mappings, stacks that come late, and what is counted. */

#include <string.h>

#include "bpf/wait_record.h"
#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull
/* System calls of x86-64. */
#define READ 0
#define CLOSE 3

/* Process 10 with app at 0x1000, and the kernel with one module. */
static int setup(void **state)
{
	struct fed *f;

	fed_setup(state);
	f = *state;
	feed_module(f, 0, "/bin/app");
	feed_module(f, 1, "/lib/lib.so");
	feed_module(f, 2, "[kernel]");
	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	feed_map(f, 0, 10, 0x1000, 0x2000, 0, 0);
	feed_map(f, 0, 0, 0xf000, 0xff00, 0, 2);
	return 0;
}

static uint64_t cpu_ns(const struct profile_thread *row)
{
	uint64_t sum = 0;

	samples_for_each(&row->samples, sample)
		sum += sample->cpu_delta;
	return sum;
}

#define CASE(name) TEST_WITH(name, setup, fed_teardown)

CASE(return_addresses_are_one_too_high)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0xf101, 0x1101, 0x1180, 0x1200, 0x1301, 0};
	/* The caller of the interrupted function follows the trampoline, which nobody called. */
	const uint8_t kinds[] = {FRAME_KERNEL, FRAME_NATIVE, FRAME_NATIVE,
				 FRAME_SIGNAL, FRAME_GUESS,  99};
	const struct profile_thread *row;

	feed_stack(f, MS, 1, 0, addrs, 1, 5, kinds);
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf201, 1, 0);
	feed_stack(f, MS, 2, STACK_USER_PC, addrs, 1, 4, kinds);
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf201, 2, 0);
	row = fed_thread(f, 10, 0, 10);
	fed_expect_stack(f, row, 0,
			 "g:app+0x300 s:app+0x200 app+0x180 app+0x100 "
			 "k:[kernel]+0x100 k:[kernel]+0x201");
	fed_expect_stack(f, row, 1,
			 "g:app+0x300 s:app+0x200 app+0x180 app+0x101 "
			 "k:[kernel]+0x100 k:[kernel]+0x201");
}

CASE(guesses_count_where_their_frame_is_left)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101, 0x1201, 0x1301};
	const uint8_t kinds[] = {FRAME_NATIVE, FRAME_GUESS, FRAME_NATIVE};
	const unsigned int flags = STACK_WHOLE | STACK_GUESSED;

	feed_stack(f, MS, 1, flags, addrs, 0, 3, kinds);
	feed_sample(f, MS, 10, 10, 0, 0x1010, 1, 0);
	assert_int_equal(f->p->stats.guessed, 1);
	/* A function of an interpreter is in the place of the guess. */
	feed_stack(f, 2 * MS, 2, flags, addrs, 0, 3, NULL);
	feed_sample(f, 2 * MS, 10, 10, 0, 0x1010, 2, 0);
	feed_end(f, 3 * MS);
	assert_int_equal(f->p->stats.guessed, 1);
	assert_int_equal(f->p->stats.whole, 2);
}

static void feed_section(struct fed *f, uint32_t module, const char *name, uint64_t offset)
{
	union {
		struct rec_section section;
		char bytes[256];
	} rec = {.section = {.module_id = module, .offset = offset}};
	size_t size = strlen(name);

	record_init(&rec.section.rec, REC_SECTION, rec_section_size(size), SESSION_START_NS, 0, 0);
	rec.section.name_size = (uint32_t)size;
	memcpy(rec.section.name, name, size);
	session_feed(f->s, &rec.section.rec);
}

static void feed_symbol(struct fed *f, uint32_t module, const char *name, uint64_t offset)
{
	union {
		struct rec_symbol symbol;
		char bytes[256];
	} rec = {.symbol = {.module_id = module, .offset = offset, .size = 0x10}};
	size_t size = strlen(name);

	record_init(&rec.symbol.rec, REC_SYMBOL, rec_symbol_size(size), SESSION_START_NS, 0, 0);
	rec.symbol.name_size = (uint32_t)size;
	memcpy(rec.symbol.name, name, size);
	session_feed(f->s, &rec.symbol.rec);
}

CASE(symbols_belong_to_their_module)
{
	struct fed *f = *state;
	const struct module *module;

	feed_symbol(f, 2, "second", 0x40);
	feed_symbol(f, 2, "first", 0x20);
	feed_symbol(f, 77, "nobody", 0x30);
	feed_symbol(f, 2, "", 0x60);
	feed_symbol(f, 2, "third", 0x50);
	module = modules_get(&f->p->modules, 2);
	assert_int_equal(module->symbols.count, 3);
	assert_null(module_find_symbol(module, 0x1f));
	assert_string_equal(module_find_symbol(module, 0x20)->name, "first");
	assert_null(module_find_symbol(module, 0x30));
	assert_string_equal(module_find_symbol(module, 0x4f)->name, "second");
	assert_string_equal(module_find_symbol(module, 0x50)->name, "third");
	assert_null(module_find_symbol(module, UINT64_MAX));
}

CASE(sections_belong_to_their_module)
{
	struct fed *f = *state;
	const struct module *module;

	feed_section(f, 2, ".text", 0x40);
	feed_section(f, 2, ".a.name.that.is.longer.than.any.real.one", 0x50);
	feed_section(f, 77, ".text", 0x60);
	feed_section(f, 2, ".exit.text", 0x70);
	module = modules_get(&f->p->modules, 2);
	assert_int_equal(module->sections.count, 2);
	assert_string_equal(module->sections.items[0].name, ".text");
	assert_int_equal(module->sections.items[0].offset, 0x40);
	assert_string_equal(module->sections.items[1].name, ".exit.text");
	assert_int_equal(module->sections.items[1].offset, 0x70);
	for (unsigned int i = 0; i < 1000; i++)
		feed_section(f, 2, ".text", i);
	assert_in_range(module->sections.count, 2, 100);
}

CASE(a_chain_ends_where_it_leaves_code)
{
	struct fed *f = *state;
	/* A call at the very end of a mapping returns to an address outside, and is still code. */
	const uint64_t addrs[] = {0x1101, 0x2000, 0x2001, 0x1201, 0}, data[] = {0x9000, 0x1201};

	feed_stack(f, MS, 1, 0, addrs, 0, 5, NULL);
	feed_stack(f, MS, 2, 0, data, 0, 2, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 1, 0);
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf001, 2, 0);
	/* Without any mapping of the process, frames stay unknown. */
	feed_sample(f, MS, 12, 12, 0, 0x1001, 1, 0);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "app+0xfff app+0x100 app+0x1");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 1, "k:[kernel]+0x1");
	fed_expect_stack(f, fed_thread(f, 12, 0, 12), 0, "0x0 0x1200 0x2000 0x1fff 0x1100 0x1001");
	assert_int_equal(f->p->stats.user_stacks, 2);
}

CASE(a_call_at_the_end_of_a_mapping_belongs_to_it)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x2000};

	feed_map(f, 0, 10, 0x2000, 0x3000, 0, 1);
	feed_stack(f, MS, 1, 0, addrs, 0, 1, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x2000, 1, 0);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "app+0xfff lib.so+0x0");
}

CASE(kernel_and_user_space_do_not_mix)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101, 0xf101};

	feed_stack(f, MS, 1, 0, addrs, 1, 1, NULL);
	feed_sample(f, MS, 12, 12, SAMPLE_LEAF_KERNEL, 0x1001, 1, 0);
	feed_leaf(f, MS, 10, 10, 0xf100);
	fed_expect_stack(f, fed_thread(f, 12, 0, 12), 0, "0xf100 k:0x1100 k:0x1001");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "0xf100");
}

CASE(one_stack_means_what_is_mapped_when_it_is_used)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0xf101, 0x1101};
	const struct profile_thread *row;

	feed_stack(f, MS, 1, 0, addrs, 1, 1, NULL);
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf200, 1, 0);
	feed_map(f, 2 * MS, 10, 0x1000, 0x2000, 0x4000, 1);
	feed_sample(f, 3 * MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf200, 1, 0);
	feed_map(f, 4 * MS, 0, 0xf100, 0xf180, 0, 1);
	feed_sample(f, 5 * MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf200, 1, 0);
	feed_name(f, 6 * MS, 10, 10, NAME_NEW_SPACE, "");
	feed_sample(f, 7 * MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf200, 1, 0);
	feed_sample(f, 7 * MS, 11, 11, SAMPLE_LEAF_KERNEL, 0xf200, 1, 0);
	row = fed_thread(f, 10, 0, 10);
	fed_expect_stack(f, row, 0, "app+0x100 k:[kernel]+0x100 k:[kernel]+0x200");
	fed_expect_stack(f, row, 1, "lib.so+0x4100 k:[kernel]+0x100 k:[kernel]+0x200");
	fed_expect_stack(f, row, 2, "lib.so+0x4100 k:lib.so+0x0 k:[kernel]+0x200");
	fed_expect_stack(f, row, 3, "0x1100 k:lib.so+0x0 k:[kernel]+0x200");
	fed_expect_stack(f, fed_thread(f, 11, 0, 11), 0, "0x1100 k:lib.so+0x0 k:[kernel]+0x200");
}

CASE(equal_stacks_are_one_row)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101, 0x1201};

	feed_fork(f, MS, 11, 11, 10, "child");
	feed_stack(f, MS, 1, 0, addrs, 0, 2, NULL);
	feed_stack(f, MS, 2, 0, addrs, 0, 2, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x1000, 1, 0);
	feed_sample(f, MS, 10, 10, 0, 0x1000, 2, 0);
	feed_sample(f, MS, 11, 11, 0, 0x1000, 1, 0);
	assert_int_equal(f->p->stacks.rows.count, 3);
	assert_int_equal(f->p->frames.rows.count, 3);
	assert_int_equal(fed_thread(f, 10, 0, 10)->samples.open.items[0].stack,
			 fed_thread(f, 11, 0, 11)->samples.open.items[0].stack);
}

CASE(late_stacks_are_waited_for)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101};
	struct profile_thread *row;

	feed_sample(f, 1 * MS, 10, 10, 0, 0x1001, 5, 0);
	feed_sample(f, 2 * MS, 10, 10, 0, 0x1002, 6, 0);
	feed_sample(f, 3 * MS, 10, 10, 0, 0x1003, 5, 0);
	feed_leaf(f, 4 * MS, 10, 10, 0x1004);
	row = fed_thread(f, 10, 0, 10);
	assert_int_equal(samples_count(&row->samples), 1);
	feed_stack(f, 4 * MS, 5, 0, addrs, 0, 1, NULL);
	feed_stack(f, 5 * MS, 6, 0, addrs, 0, 1, NULL);
	assert_int_equal(samples_count(&row->samples), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(row->samples.open.items[i].time, SESSION_START_NS + (i + 1) * MS);
	fed_expect_stack(f, row, 0, "app+0x100 app+0x1");
	fed_expect_stack(f, row, 2, "app+0x100 app+0x3");
	fed_expect_stack(f, row, 3, "app+0x4");
	feed_end(f, 6 * MS);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 0);
	assert_int_equal(f->p->stats.cpu_samples, 4);
}

CASE(a_stack_that_never_comes_is_a_loss)
{
	struct fed *f = *state;
	struct profile_thread *row;

	feed_sample(f, 1 * MS, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, 1 * MS);
	feed_sample(f, 2 * MS, 10, 10, 0, 0x1001, 5, 2 * MS);
	feed_sample(f, 5 * MS, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, 4 * MS);
	feed_end(f, 6 * MS);
	row = fed_thread(f, 10, 0, 10);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 1);
	assert_int_equal(f->p->stats.cpu_samples, 2);
	assert_int_equal(samples_count(&row->samples), 2);
	/* Keeps the CPU time. */
	assert_int_equal(row->samples.open.items[1].cpu_delta, 3 * MS);
	assert_int_equal(cpu_ns(row), 3 * MS);
}

/* Two epochs after it was sent, a stack is unknown, unless nothing has asked for it so far. */
CASE(stacks_of_old_epochs_are_forgotten)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101, 0x1201}, others[] = {0x1301}, opener[] = {0x1401};
	const uint64_t start = SESSION_START_NS, second = 1000 * MS;

	feed_stack(f, MS, 1, 0, others, 0, 1, NULL);
	feed_stack(f, MS, 2, 0, addrs, 0, 2, NULL);
	feed_stack(f, MS, 3, 0, opener, 0, 1, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 1, 0);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 2, 0);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 9, 0);
	session_begin_epoch(f->s, start + 10 * second);
	/* Both too soon to forget anything. */
	session_begin_epoch(f->s, start + 11 * second);
	session_begin_epoch(f->s, start + 12 * second);
	feed_sample(f, 12 * second, 10, 10, 0, 0x1002, 1, 0);
	feed_stack(f, 12 * second, 4, 0, addrs, 0, 2, NULL);
	feed_sample(f, 12 * second, 10, 10, 0, 0x1002, 4, 0);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 0);
	session_begin_epoch(f->s, start + 20 * second);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 1);
	feed_sample(f, 21 * second, 10, 10, 0, 0x1003, 1, 0);
	feed_sample(f, 22 * second, 10, 10, 0, 0x1003, 2, 0);
	feed_sample(f, 23 * second, 10, 10, 0, 0x1003, 3, 0);
	feed_sample(f, 24 * second, 10, 10, 0, 0x1003, 4, 0);
	feed_end(f, 30 * second);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 3);
	assert_int_equal(f->p->stats.cpu_samples, 6);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 4, "app+0x400 app+0x3");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 5, "app+0x200 app+0x100 app+0x3");
}

CASE(waiting_is_bounded)
{
	enum { COUNT = 300000, ROOM = 1 << 18 };
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101};

	for (uint32_t i = 0; i < COUNT; i++)
		feed_sample(f, MS + i, 10, 10, 0, 0x1001, i / (COUNT / 7 + 1), 0);
	assert_int_equal(f->p->stats.lost[LOST_STACK], COUNT - ROOM);
	for (uint32_t i = 0; i < 7; i++)
		feed_stack(f, 2 * MS, i, 0, addrs, 0, 1, NULL);
	assert_int_equal(samples_count(&fed_thread(f, 10, 0, 10)->samples), ROOM);
	/* And there is room again. */
	feed_sample(f, 3 * MS, 10, 10, 0, 0x1001, 8, 0);
	assert_int_equal(f->p->stats.lost[LOST_STACK], COUNT - ROOM);
	feed_stack(f, 4 * MS, 8, 0, addrs, 0, 1, NULL);
	assert_int_equal(samples_count(&fed_thread(f, 10, 0, 10)->samples), ROOM + 1);
}

CASE(a_waiting_sample_keeps_its_mappings)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x1101};

	feed_sample(f, MS, 10, 10, 0, 0x1001, 5, 0);
	feed_name(f, 2 * MS, 10, 10, NAME_NEW_SPACE, "");
	feed_map(f, 2 * MS, 10, 0x1000, 0x2000, 0, 1);
	feed_fork(f, 3 * MS, 10, 10, 1, "again");
	feed_map(f, 3 * MS, 10, 0x1000, 0x2000, 0x8000, 1);
	feed_stack(f, 4 * MS, 5, 0, addrs, 0, 1, NULL);
	feed_end(f, 5 * MS);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "app+0x100 app+0x1");
	assert_int_equal(samples_count(&fed_thread(f, 10, 1, 10)->samples), 0);
}

CASE(the_newest_stack_of_an_id_wins)
{
	struct fed *f = *state;
	const uint64_t first[] = {0x1101}, second[] = {0x1201};

	feed_stack(f, MS, 5, 0, first, 0, 1, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x1001, 5, 0);
	feed_stack(f, 2 * MS, 5, 0, second, 0, 1, NULL);
	feed_sample(f, 2 * MS, 10, 10, 0, 0x1001, 5, 0);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "app+0x100 app+0x1");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 1, "app+0x200 app+0x1");
}

CASE(cpu_time_is_unwrapped)
{
	struct fed *f = *state;
	const uint64_t wrap = 1ull << 36; /* wrap-around of 32 bits of ns >> 4 */
	const uint64_t long_time = 1ull << 34;
	const uint64_t cpu[] = {wrap - 160, wrap + 320, wrap + 160, wrap + 480,
				wrap + 480 + long_time};
	const uint64_t times[] = {0, MS, 2 * MS, 3 * MS, 4 * MS + long_time};
	const uint32_t deltas[] = {0, 480, 0, 160, UINT32_MAX};
	const struct profile_thread *row;

	for (size_t i = 0; i < 5; i++)
		feed_sample(f, times[i], 10, 10, SAMPLE_NO_STACK, 0x1001, 0, cpu[i]);
	feed_end(f, times[4]);
	row = fed_thread(f, 10, 0, 10);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(row->samples.open.items[i].cpu_delta, deltas[i]);
	assert_int_equal(cpu_ns(row), 640ull + UINT32_MAX);
}

CASE(cpu_time_that_catches_up_was_used_before)
{
	/* An old reading, then one that has caught up: 48 ns do not fit into 16. */
	static const uint64_t cpu[] = {0, 16, 16, 16, 64, 80};
	static const uint32_t deltas[] = {0, 16, 16, 16, 16, 16};
	struct fed *f = *state;
	const struct profile_thread *row;

	for (size_t i = 0; i < 6; i++)
		feed_sample(f, i * 16, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, cpu[i]);
	feed_end(f, MS);
	row = fed_thread(f, 10, 0, 10);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(row->samples.open.items[i].cpu_delta, deltas[i]);
	assert_int_equal(cpu_ns(row), 80);
}

CASE(cpu_time_never_exceeds_the_time_that_passed)
{
	struct fed *f = *state;
	const struct profile_thread *row;

	feed_sample(f, 0, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, 0);
	feed_sample(f, 16, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, 480);
	feed_sample(f, 16, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, 960);
	feed_end(f, MS);
	row = fed_thread(f, 10, 0, 10);
	assert_int_equal(row->samples.open.items[1].cpu_delta, 16);
	assert_int_equal(row->samples.open.items[2].cpu_delta, 0);
}

CASE(counts_each_sort_of_sample)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0xf101, 0x1101};
	const struct profile_stats *stats = &f->p->stats;

	feed_stack(f, 0, 1, 0, addrs, 1, 1, NULL);
	feed_stack(f, 0, 2, 0, addrs, 1, 0, NULL);
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf001, 1, 0); /* user frames */
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL, 0xf001, 2, 0); /* kernel frames alone */
	feed_sample(f, MS, 10, 10, SAMPLE_NO_STACK, 0x1001, 0, 0); /* a user leaf */
	feed_sample(f, MS, 10, 10, SAMPLE_NO_STACK | SAMPLE_NO_LEAF, 0, 0, 0);
	feed_sample(f, MS, 10, 10, SAMPLE_LEAF_KERNEL | SAMPLE_EXITING, 0xf001, 2, 0);
	feed_sample(f, MS, 2, 2, SAMPLE_LEAF_KERNEL | SAMPLE_KERNEL_THREAD, 0xf001, 2, 0);
	assert_int_equal(stats->cpu_samples, 6);
	assert_int_equal(stats->user_stacks, 2);
	assert_int_equal(fed_thread(f, 10, 0, 10)->samples.open.items[3].stack, NO_STACK);
	assert_int_equal(profile_sample_count(f->p), 6);
	assert_int_equal(profile_process_count(f->p), 2);
}

CASE(anonymous_memory_belongs_to_its_process)
{
	struct fed *f = *state;
	const uint64_t addrs[] = {0x5001};
	const struct module *first, *second;

	feed_map(f, MS, 10, 0x5000, 0x6000, 0, NO_REC_MODULE);
	assert_int_equal(f->p->modules.rows.count, 3);
	feed_stack(f, MS, 1, 0, addrs, 0, 1, NULL);
	feed_sample(f, MS, 10, 10, 0, 0x5010, 1, 0);
	feed_fork(f, 2 * MS, 11, 11, 10, "child");
	feed_sample(f, 3 * MS, 11, 11, 0, 0x5010, 1, 0);
	feed_sample(f, 3 * MS, 10, 10, 0, 0x5010, 1, 0);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "[anon]+0x5000 [anon]+0x5010");
	fed_expect_stack(f, fed_thread(f, 11, 0, 11), 0, "[anon]+0x5000 [anon]+0x5010");
	assert_int_equal(f->p->modules.rows.count, 5);
	first = modules_get(&f->p->modules, 3);
	second = modules_get(&f->p->modules, 4);
	assert_int_equal(first->kind, PROFILE_MODULE_ANON);
	assert_int_equal(first->pid, 10);
	assert_int_equal(second->kind, PROFILE_MODULE_ANON);
	assert_int_equal(second->pid, 11);
	assert_int_equal(f->p->stacks.rows.count, 4);
}

CASE(losses_are_counted_and_shown_in_bursts)
{
	struct fed *f = *state;
	const struct profile_thread *row;

	feed_lost(f, 10 * MS, LOST_RING_FULL, 3);
	feed_lost(f, 110 * MS, LOST_RING_FULL, 4);
	feed_lost(f, 211 * MS, LOST_NO_RING, 5);
	feed_lost(f, 212 * MS, LOST_MAPPING, 6);
	feed_lost(f, 213 * MS, LOST_CAUSE_COUNT, 7);
	feed_lost(f, 400 * MS, LOST_RING_FULL, 0);
	feed_end(f, 500 * MS);
	row = fed_thread(f, 10, 0, 10);
	assert_int_equal(f->p->stats.lost[LOST_RING_FULL], 7);
	assert_int_equal(f->p->stats.lost[LOST_NO_RING], 5);
	assert_int_equal(f->p->stats.lost[LOST_MAPPING], 6);
	assert_int_equal(row->markers.count, 3);
	assert_int_equal(row->markers.items[0].schema, MARKER_LOST);
	fed_expect_number(f, &row->markers.items[0], LOST_COUNT, 7);
	assert_int_equal(row->markers.items[0].start, SESSION_START_NS + 10 * MS);
	assert_int_equal(row->markers.items[0].end, SESSION_START_NS + 110 * MS);
	fed_expect_number(f, &row->markers.items[1], LOST_COUNT, 5);
	assert_int_equal(row->markers.items[2].schema, MARKER_LOST_EVENTS);
	fed_expect_number(f, &row->markers.items[2], LOST_COUNT, 6);
	assert_int_equal(f->p->cpu_losses.count, 1);
	assert_int_equal(f->p->cpu_losses.items[0].samples, 12);
	assert_int_equal(f->p->cpu_losses.items[0].events, 6);
}

CASE(equal_leaves_of_many_stacks_have_their_own_callers)
{
	/* Twice the stacks by which the resolver's caches tell callers apart at once. */
	const uint64_t callers = 1u << 16;
	struct fed *f = *state;
	uint64_t number = 0;

	feed_map(f, 0, 10, 0x100000, 0x100000 + callers, 0, 1);
	for (uint64_t i = 0; i < callers; i++) {
		uint64_t addr = 0x100001 + i;

		feed_stack(f, MS + i, 1, 0, &addr, 0, 1, NULL);
		feed_sample(f, MS + i, 10, 10, 0, 0x1234, 1, 0);
	}
	feed_end(f, 2 * MS);
	assert_true(f->p->stacks.rows.count > callers);
	samples_for_each(&fed_thread(f, 10, 0, 10)->samples, sample) {
		const struct stack *stack;

		if (!sample->weight)
			continue;
		stack = &f->p->stacks.rows.items[sample->stack];
		assert_int_equal(f->p->frames.rows.items[stack->frame].offset, 0x234);
		stack = &f->p->stacks.rows.items[stack->parent];
		assert_int_equal(f->p->frames.rows.items[stack->frame].offset, number++);
	}
	assert_int_equal(number, callers);
}

static void wait_at(struct fed *f, int32_t call, uint64_t leaf, uint64_t time, uint64_t length)
{
	struct rec_wait wait = {
		.start = SESSION_START_NS + time,
		.reason = {.call = call, .state = WAIT_SLEEPING},
	};
	struct rec_resumed run = {.start = wait.start, .reason = wait.reason};

	record_init(&wait.sample.rec, REC_WAIT, sizeof(wait), wait.start, 10, 10);
	wait.sample.rec.flags = SAMPLE_NO_STACK;
	wait.sample.leaf = leaf;
	session_feed(f->s, &wait.sample.rec);
	record_init(&run.rec, REC_RUN, sizeof(run), wait.start + length, 10, 10);
	run.queued = length / 2;
	session_feed(f->s, &run.rec);
}

CASE(labels_of_waits_outlast_unused_stacks)
{
	/* The number of stacks at which those that no row has are dropped. */
	const uint64_t stacks = 1u << 17;
	struct fed *f = *state;
	uint64_t waits = 0, weights[2] = {0};

	/* Waits of no length get no rows. */
	wait_at(f, CLOSE, 0x1000, MS, 0);
	wait_at(f, READ, 0x1010, MS, 60 * MS);
	while (f->p->stacks.rows.count < stacks && waits < stacks)
		wait_at(f, READ, 0x100000 + waits++, 100 * MS, 0);
	wait_at(f, READ, 0x100000, 100 * MS, 0);
	assert_true(f->p->stacks.rows.count < 100);
	wait_at(f, READ, 0x1020, 200 * MS, 60 * MS);
	feed_end(f, 300 * MS);
	samples_for_each(&fed_thread(f, 10, 0, 10)->samples, sample) {
		const struct frame *frame = profile_frame_of(f->p, sample->stack);
		const char *name;

		if (!sample->weight)
			continue;
		assert_int_equal(frame->kind, PROFILE_FRAME_LABEL);
		name = strings_get(&f->p->strings, f->p->funcs.rows.items[frame->func].name);
		weights[0] += strcmp(name, "[read]") == 0 ? sample->weight : 0;
		weights[1] += strcmp(name, "[queued]") == 0 ? sample->weight : 0;
	}
	/* Allow for intervals across both parts, whose weight either may have. */
	assert_int_equal(weights[0] + weights[1], 120);
	assert_true(weights[0] >= 58 && weights[0] <= 62);
}

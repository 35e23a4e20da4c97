/* SPDX-License-Identifier: MIT */
/* What the walker is told of processes, by the events that are told to the unwinder. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpf/config.h"
#include "lib/base/alloc.h"
#include "lib/base/vec.h"
#include "lib/unwind/native/table_pool.h"
#include "lib/live/unwind/unwinder.h"
#include "lib/record/record.h"
#include "tests/unit/fake_clock.h"

#define CODE 0x7f0000000000ull
#define CODE_SIZE 0x10000000ull
#define SECOND 1000000000ull
#define PID 100
#define PIDS 8

struct told {
	unsigned int times;
	bool is_there;
	struct unwind_space space;
};

struct fixture {
	struct unwinder *u;
	struct unwinder_options options;
	struct file_set *files;
	struct told told[PIDS]; /* by pid - PID */
	uint64_t now;
	uint64_t telling_takes_ns; /* of the fake clock */
	VEC(struct rec_stack *) sent; /* owned */
};

static void set_space(void *ctx, uint32_t pid, const struct unwind_space *space)
{
	struct fixture *f = ctx;
	struct told *told = &f->told[pid - PID];

	assert_in_range(pid, PID, PID + PIDS - 1);
	told->times++;
	told->is_there = space;
	if (space)
		told->space = *space;
	if (f->telling_takes_ns)
		fake_clock_pass(f->telling_takes_ns);
}

static void take(void *ctx, const struct rec *rec)
{
	struct fixture *f = ctx;

	vec_push(&f->sent, xmemdup(rec, record_size(rec)));
}

static void start(struct fixture *f, uint64_t max_bytes)
{
	f->options = (struct unwinder_options){
		.walker = {.rules = xcalloc(UNWIND_RULES_MAX, sizeof(struct unwind_rule)),
			   .shards_fd = -1,
			   .first_shard_fd = -1,
			   .set_space = set_space,
			   .ctx = f},
		.methods = UNWIND_BY_CFI,
		.max_bytes = max_bytes,
		.sink = take,
		.ctx = f,
	};
	f->files = file_set_new(16);
	f->options.files = f->files;
	f->now = SECOND;
	assert_int_equal(unwinder_new(&f->u, &f->options, NULL), 0);
}

static void stop(struct fixture *f)
{
	unwinder_free(f->u);
	file_set_free(f->files);
	free(f->options.walker.rules);
	vec_for_each(&f->sent, struct rec_stack **, stack)
		free(*stack);
	vec_release(&f->sent);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	start(f, 64 * UNWIND_SHARD_BYTES);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	stop(*state);
	free(*state);
	return 0;
}

static struct rec_module *make_module(uint32_t id)
{
	struct rec_module *rec = xcalloc(1, rec_module_size(1, 0));

	record_init(&rec->rec, REC_MODULE, rec_module_size(1, 0), 0, 0, 0);
	rec->module_id = id;
	rec->kind = MODULE_FILE;
	rec->segment_count = 1;
	rec->segments[0] = (struct rec_segment){.file_size = CODE_SIZE, .executable = 1};
	return rec;
}

/* This program as a module, whose code is taken to be at offset 0 in it; or none. */
static void add_module(struct fixture *f, uint32_t id, bool has_file)
{
	struct rec_module *rec = make_module(id);
	int fd = -1;

	if (has_file) {
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		file_set_add(f->files, id, fd);
	}
	unwinder_module(f->u, rec, fd);
	free(rec);
}

static void map(struct fixture *f, uint32_t pid, uint64_t at, uint32_t module)
{
	struct rec_map rec = {.start = at, .end = at + CODE_SIZE, .module_id = module};

	record_init(&rec.rec, REC_MAP, sizeof(rec), f->now, pid, pid);
	unwinder_map(f->u, &rec);
}

/* Rounds, far enough apart that what was given back can be used again. */
static void flush(struct fixture *f, unsigned int rounds)
{
	while (rounds--) {
		f->now += SECOND / 10;
		unwinder_flush(f->u, f->now, true);
	}
}

static const struct unwind_space *space_of(const struct fixture *f, uint32_t pid)
{
	assert_true(f->told[pid - PID].is_there);
	return &f->told[pid - PID].space;
}

static void tables(const struct fixture *f, struct unwinder_stats *stats)
{
	unwinder_get_stats(f->u, stats);
}

static void a_mapping_comes_with_its_table(void **state)
{
	struct fixture *f = *state;
	struct unwinder_stats stats;
	unsigned int told = 0;

	add_module(f, 0, true);
	map(f, PID, CODE, 0);
	assert_int_equal(f->told[0].times, 0);
	flush(f, 1);
	assert_int_equal(space_of(f, PID)->count, 1);
	assert_int_equal(space_of(f, PID)->execs, 0);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	assert_true(stats.rows > 1000);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(stats.table_bytes, UNWIND_SHARD_BYTES);
	/* The rules are there for the walker, the fixed ones too. */
	assert_int_equal(f->options.walker.rules[UNWIND_RULE_END].cfa_kind, UNWIND_CFA_END);
	for (uint32_t i = UNWIND_RULE_FIRST; i < UNWIND_RULES_MAX; i++)
		told += f->options.walker.rules[i].cfa_kind == UNWIND_CFA_REG;
	assert_true(told > 10);
	/* Nothing has changed: nothing is told. */
	flush(f, 3);
	assert_int_equal(f->told[0].times, 1);
	map(f, PID, CODE, 0);
	flush(f, 1);
	assert_int_equal(f->told[0].times, 1);
}

static void add_small_module(struct fixture *f, uint32_t id)
{
	struct rec_module *rec = make_module(id);
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	file_set_add(f->files, id, fd);
	unwinder_module(f->u, rec, fd);
	free(rec);
}

/* Each file that waits takes a descriptor: most wait without. */
static void more_files_than_may_wait_at_a_time(void **state)
{
	const uint32_t count = 3 * TABLE_POOL_MAX;
	struct fixture *f = *state;
	struct unwinder_stats stats;
	int lowest, highest;

	lowest = open("/bin/true", O_RDONLY | O_CLOEXEC);
	for (uint32_t i = 0; i < count; i++)
		add_small_module(f, i);
	map(f, PID, CODE, count - 1);
	highest = fcntl(lowest, F_DUPFD_CLOEXEC, lowest + (int)count);
	assert_in_range(highest, lowest + (int)count, lowest + (int)count + 1 + TABLE_POOL_MAX);
	/* Nobody waits for the worker, which goes on by itself. */
	for (tables(f, &stats); stats.tables < TABLE_POOL_MAX; tables(f, &stats))
		unwinder_flush(f->u, f->now, false);
	flush(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, count);
	assert_true(unwinder_is_settled(f->u));
	close(highest);
	close(lowest);
}

static void files_that_are_gone_by_their_turn_have_no_table(void **state)
{
	const uint32_t count = 3 * TABLE_POOL_MAX;
	struct fixture *f = *state;
	struct unwinder_stats stats;

	for (uint32_t i = 0; i < count; i++)
		add_small_module(f, i);
	map(f, PID, CODE, count - 1);
	file_set_add(f->files, count - 1, -1);
	flush(f, 2);
	tables(f, &stats);
	assert_int_equal(stats.tables, count - 1);
	assert_true(unwinder_is_settled(f->u));
	assert_int_equal(space_of(f, PID)->count, 1);
}

static void one_table_for_all_processes(void **state)
{
	struct fixture *f = *state;
	struct unwinder_stats stats;

	add_module(f, 0, true);
	for (uint32_t i = 0; i < PIDS; i++)
		map(f, PID + i, CODE, 0);
	flush(f, 1);
	for (uint32_t i = 0; i < PIDS; i++)
		assert_int_equal(space_of(f, PID + i)->count, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
}

static void a_child_has_what_its_parent_had(void **state)
{
	struct fixture *f = *state;

	add_module(f, 0, false);
	map(f, PID, CODE, 0);
	unwinder_exec(f->u, PID);
	map(f, PID, CODE, 0);
	map(f, PID, CODE + 2 * CODE_SIZE, 0);
	unwinder_fork(f->u, PID + 1, PID);
	map(f, PID, CODE + 4 * CODE_SIZE, 0);
	flush(f, 1);
	assert_int_equal(space_of(f, PID)->count, 3);
	assert_int_equal(space_of(f, PID)->execs, 1);
	assert_int_equal(space_of(f, PID + 1)->count, 2);
	assert_int_equal(space_of(f, PID + 1)->execs, 0);
	/* What the child does is its own affair. */
	unwinder_exec(f->u, PID + 1);
	flush(f, 1);
	assert_int_equal(space_of(f, PID + 1)->count, 0);
	assert_int_equal(space_of(f, PID + 1)->execs, 1);
	assert_int_equal(space_of(f, PID)->count, 3);
}

static void an_exec_replaces_everything(void **state)
{
	struct fixture *f = *state;

	add_module(f, 0, false);
	map(f, PID, CODE, 0);
	flush(f, 1);
	unwinder_exec(f->u, PID);
	unwinder_exec(f->u, PID);
	map(f, PID, CODE + 2 * CODE_SIZE, 0);
	flush(f, 1);
	assert_int_equal(space_of(f, PID)->execs, 2);
	assert_int_equal(space_of(f, PID)->count, 1);
}

static void after_the_end_nothing_is_left(void **state)
{
	struct fixture *f = *state;

	add_module(f, 0, false);
	map(f, PID, CODE, 0);
	flush(f, 1);
	unwinder_exit(f->u, PID);
	assert_false(f->told[0].is_there);
	unwinder_exit(f->u, PID);
	flush(f, 2);
	assert_false(f->told[0].is_there);
	/* In one round: a process that ends before it was told of, and the next of that number. */
	unwinder_exec(f->u, PID + 1);
	map(f, PID + 1, CODE, 0);
	unwinder_exit(f->u, PID + 1);
	map(f, PID + 1, CODE + 2 * CODE_SIZE, 0);
	flush(f, 1);
	assert_int_equal(space_of(f, PID + 1)->execs, 0);
	assert_int_equal(space_of(f, PID + 1)->count, 1);
}

/* A child may have been given the same in the kernel, which is known only some rounds later. */
static void old_descriptions_stay_for_a_while(void **state)
{
	struct fixture *f = *state;
	uint32_t first, next;

	add_module(f, 0, false);
	map(f, PID, CODE, 0);
	flush(f, 1);
	first = space_of(f, PID)->at;
	map(f, PID, CODE + 2 * CODE_SIZE, 0);
	flush(f, 1);
	map(f, PID + 1, CODE, 0);
	flush(f, 1);
	next = space_of(f, PID + 1)->at;
	assert_int_not_equal(first, space_of(f, PID)->at);
	assert_int_not_equal(first, next);
	flush(f, 6);
	map(f, PID + 2, CODE, 0);
	flush(f, 1);
	assert_int_equal(space_of(f, PID + 2)->at, first);
}

static void memory_that_is_refused_is_counted(void **state)
{
	struct fixture f = {0};
	struct unwinder_stats stats;

	(void)state;
	start(&f, 0);
	add_module(&f, 0, true);
	map(&f, PID, CODE, 0);
	flush(&f, 1);
	assert_int_equal(space_of(&f, PID)->count, 0);
	tables(&f, &stats);
	assert_int_equal(stats.tables, 0);
	assert_int_equal(stats.table_bytes, 0);
	assert_int_equal(stats.refused, 2);
	stop(&f);
}

static void unused_tables_go_and_come_back(void **state)
{
	struct fixture *f = *state;
	struct unwinder_stats stats;

	add_module(f, 0, true);
	map(f, PID, CODE, 0);
	flush(f, 1);
	f->now += 60 * SECOND;
	flush(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	unwinder_exit(f->u, PID);
	f->now += 6 * SECOND;
	flush(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	f->now += 6 * SECOND;
	flush(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 0);
	map(f, PID + 1, CODE, 0);
	flush(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(space_of(f, PID + 1)->count, 1);
}

/* Each table may be one that the process waits for, but it is not told of each by itself. */
static void many_tables_are_told_of_at_once(void **state)
{
	const uint32_t modules = 300;
	struct fixture *f = *state;
	struct unwinder_stats stats;

	/* Far longer than it takes to compile all of these: no time passes for that. */
	f->telling_takes_ns = SECOND / 1000;
	fake_clock_start(0);
	for (uint32_t id = 0; id < modules; id++) {
		struct rec_map rec = {.start = CODE + id * 4096ull, .module_id = id};

		add_module(f, id, true);
		rec.end = rec.start + 4096;
		record_init(&rec.rec, REC_MAP, sizeof(rec), f->now, PID, PID);
		unwinder_map(f->u, &rec);
	}
	do {
		unwinder_flush(f->u, ++f->now, false);
	} while (!unwinder_is_settled(f->u));
	fake_clock_stop();
	tables(f, &stats);
	assert_int_equal(stats.tables, modules);
	assert_int_equal(space_of(f, PID)->count, modules);
	/* Of the mappings, and of all tables. */
	assert_int_equal(f->told[0].times, 2);
}

static void a_file_without_code_is_no_obstacle(void **state)
{
	struct fixture *f = *state;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rec_module *rec = make_module(0);

	unwinder_module(f->u, rec, fd);
	map(f, PID, CODE, 0);
	/* Of a module that nobody has told of. */
	map(f, PID + 1, CODE, 9);
	map(f, PID + 2, CODE, NO_REC_MODULE);
	flush(f, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(space_of(f, PID + i)->count, 1);
	free(rec);
	close(fd);
}

static void a_copy_is_finished_when_its_table_is_there(void **state)
{
	struct fixture *f = *state;
	struct rec_copy *copy = xcalloc(1, sizeof(*copy) + 64);

	record_init(&copy->rec, REC_COPY, sizeof(*copy) + 64, f->now, PID, PID);
	copy->stack_id = 3;
	copy->stack_size = 64;
	copy->pc = CODE + CODE_SIZE - 16; /* no function of this program is there */
	unwinder_copy(f->u, copy, f->now);
	add_module(f, 0, true);
	map(f, PID, CODE, 0);
	unwinder_copy(f->u, copy, f->now);
	flush(f, 1);
	assert_int_equal(f->sent.count, 2);
	assert_int_equal(f->sent.items[0]->rec.flags, STACK_LATER | STACK_UNKNOWN);
	assert_int_equal(f->sent.items[1]->rec.flags, STACK_LATER | STACK_BROKEN);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_mapping_comes_with_its_table, setup, teardown),
		cmocka_unit_test_setup_teardown(more_files_than_may_wait_at_a_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(files_that_are_gone_by_their_turn_have_no_table,
						setup, teardown),
		cmocka_unit_test_setup_teardown(one_table_for_all_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_has_what_its_parent_had, setup, teardown),
		cmocka_unit_test_setup_teardown(an_exec_replaces_everything, setup, teardown),
		cmocka_unit_test_setup_teardown(after_the_end_nothing_is_left, setup, teardown),
		cmocka_unit_test_setup_teardown(old_descriptions_stay_for_a_while, setup, teardown),
		cmocka_unit_test(memory_that_is_refused_is_counted),
		cmocka_unit_test_setup_teardown(unused_tables_go_and_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(many_tables_are_told_of_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_without_code_is_no_obstacle, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_copy_is_finished_when_its_table_is_there, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Descriptions of processes that the walker gets, by their mappings. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/code/unwind/native/table_pool.h"
#include "lib/stream/record/records.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/unwinder_fixture.h"
#include "tests/unit/test.h"

static void tables(const struct unwinder_fixture *f, struct unwinder_stats *stats)
{
	unwinder_get_stats(f->u, stats);
}

WITH_UNWINDER(a_mapping_comes_with_its_table)
{
	struct unwinder_fixture *f = *state;
	struct unwinder_stats stats;
	unsigned int told = 0;

	add_code_module(f, 0, true);
	map_code(f, PID, CODE, 0);
	assert_int_equal(f->told[0].times, 0);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID)->count, 1);
	assert_int_equal(told_space(f, PID)->execs, 0);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	assert_true(stats.rows > 1000);
	assert_int_equal(stats.refused, 0);
	assert_int_equal(stats.table_bytes, UNWIND_SHARD_BYTES);
	/* The rules are there for the walker, fixed ones included. */
	assert_int_equal(f->options.walker.rules[UNWIND_RULE_END].cfa_kind, UNWIND_CFA_END);
	for (uint32_t i = UNWIND_RULE_FIRST; i < UNWIND_RULES_MAX; i++)
		told += f->options.walker.rules[i].cfa_kind == UNWIND_CFA_REG;
	assert_true(told > 10);
	/* Nothing has changed, so nothing is sent. */
	flush_unwinder(f, 3);
	assert_int_equal(f->told[0].times, 1);
	map_code(f, PID, CODE, 0);
	flush_unwinder(f, 1);
	assert_int_equal(f->told[0].times, 1);
}

static void add_small_module(struct unwinder_fixture *f, uint32_t id)
{
	struct rec_module *rec = make_code_module(id);
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	file_set_add(f->files, id, fd);
	unwinder_module(f->u, rec, fd);
	free(rec);
}

/* Each file that waits takes a descriptor, so most wait without. */
WITH_UNWINDER(more_files_than_may_wait_at_a_time)
{
	const uint32_t count = 3 * TABLE_POOL_MAX;
	struct unwinder_fixture *f = *state;
	struct unwinder_stats stats;
	int lowest, highest;

	lowest = open("/bin/true", O_RDONLY | O_CLOEXEC);
	for (uint32_t i = 0; i < count; i++)
		add_small_module(f, i);
	map_code(f, PID, CODE, count - 1);
	highest = fcntl(lowest, F_DUPFD_CLOEXEC, lowest + (int)count);
	assert_in_range(highest, lowest + (int)count, lowest + (int)count + 1 + TABLE_POOL_MAX);
	/* The worker goes on without anybody waiting for it. */
	for (tables(f, &stats); stats.tables < TABLE_POOL_MAX; tables(f, &stats))
		unwinder_flush(f->u, f->now, false);
	flush_unwinder(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, count);
	assert_true(unwinder_is_settled(f->u));
	close(highest);
	close(lowest);
}

WITH_UNWINDER(files_that_are_gone_by_their_turn_have_no_table)
{
	const uint32_t count = 3 * TABLE_POOL_MAX;
	struct unwinder_fixture *f = *state;
	struct unwinder_stats stats;

	for (uint32_t i = 0; i < count; i++)
		add_small_module(f, i);
	map_code(f, PID, CODE, count - 1);
	file_set_add(f->files, count - 1, -1);
	flush_unwinder(f, 2);
	tables(f, &stats);
	assert_int_equal(stats.tables, count - 1);
	assert_true(unwinder_is_settled(f->u));
	assert_int_equal(told_space(f, PID)->count, 1);
}

WITH_UNWINDER(one_table_for_all_processes)
{
	struct unwinder_fixture *f = *state;
	struct unwinder_stats stats;

	add_code_module(f, 0, true);
	for (uint32_t i = 0; i < PIDS; i++)
		map_code(f, PID + i, CODE, 0);
	flush_unwinder(f, 1);
	for (uint32_t i = 0; i < PIDS; i++)
		assert_int_equal(told_space(f, PID + i)->count, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
}

/* A child may have got a copy in the kernel, which is known only some rounds later. */
WITH_UNWINDER(old_descriptions_stay_for_a_while)
{
	struct unwinder_fixture *f = *state;
	uint32_t first, next;

	add_code_module(f, 0, false);
	map_code(f, PID, CODE, 0);
	flush_unwinder(f, 1);
	first = told_space(f, PID)->at;
	map_code(f, PID, CODE + 2 * CODE_SIZE, 0);
	flush_unwinder(f, 1);
	map_code(f, PID + 1, CODE, 0);
	flush_unwinder(f, 1);
	next = told_space(f, PID + 1)->at;
	assert_int_not_equal(first, told_space(f, PID)->at);
	assert_int_not_equal(first, next);
	flush_unwinder(f, 6);
	map_code(f, PID + 2, CODE, 0);
	flush_unwinder(f, 1);
	assert_int_equal(told_space(f, PID + 2)->at, first);
}

TEST(memory_that_is_refused_is_counted)
{
	struct unwinder_fixture f = {0};
	struct unwinder_stats stats;

	start_unwinder(&f, 0);
	add_code_module(&f, 0, true);
	map_code(&f, PID, CODE, 0);
	flush_unwinder(&f, 1);
	assert_int_equal(told_space(&f, PID)->count, 0);
	tables(&f, &stats);
	assert_int_equal(stats.tables, 0);
	assert_int_equal(stats.table_bytes, 0);
	assert_int_equal(stats.refused, 2);
	stop_unwinder(&f);
}

WITH_UNWINDER(unused_tables_go_and_come_back)
{
	struct unwinder_fixture *f = *state;
	struct unwinder_stats stats;

	add_code_module(f, 0, true);
	map_code(f, PID, CODE, 0);
	flush_unwinder(f, 1);
	f->now += 60 * SECOND;
	flush_unwinder(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	end_process(f, PID);
	f->now += 6 * SECOND;
	flush_unwinder(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	f->now += 6 * SECOND;
	flush_unwinder(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 0);
	map_code(f, PID + 1, CODE, 0);
	flush_unwinder(f, 1);
	tables(f, &stats);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(told_space(f, PID + 1)->count, 1);
}

/* The process may wait for each of the tables, but is not described again for each. */
WITH_UNWINDER(many_tables_are_told_of_at_once)
{
	const uint32_t modules = 300;
	struct unwinder_fixture *f = *state;
	struct unwinder_stats stats;

	/* Far longer than compiling all of these takes: no time passes for that. */
	f->telling_takes_ns = SECOND / 1000;
	fake_clock_start(0);
	for (uint32_t id = 0; id < modules; id++) {
		struct rec_map rec = {.start = CODE + id * 4096ull, .module_id = id};

		add_code_module(f, id, true);
		rec.end = rec.start + 4096;
		record_init(&rec.rec, REC_MAP, sizeof(rec), f->now, PID, PID);
		unwinder_map(f->u, process_of(f, PID), &rec);
	}
	do {
		unwinder_flush(f->u, ++f->now, false);
	} while (!unwinder_is_settled(f->u));
	fake_clock_stop();
	tables(f, &stats);
	assert_int_equal(stats.tables, modules);
	assert_int_equal(told_space(f, PID)->count, modules);
	/* Once for the mappings, once for all tables. */
	assert_int_equal(f->told[0].times, 2);
}

WITH_UNWINDER(a_file_without_code_is_no_obstacle)
{
	struct unwinder_fixture *f = *state;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rec_module *rec = make_code_module(0);

	unwinder_module(f->u, rec, fd);
	map_code(f, PID, CODE, 0);
	/* Code of an unknown module. */
	map_code(f, PID + 1, CODE, 9);
	map_code(f, PID + 2, CODE, NO_REC_MODULE);
	flush_unwinder(f, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(told_space(f, PID + i)->count, 1);
	free(rec);
	close(fd);
}

WITH_UNWINDER(a_copy_is_finished_when_its_table_is_there)
{
	struct unwinder_fixture *f = *state;
	struct rec_copy *copy = xcalloc(1, sizeof(*copy) + 64);

	record_init(&copy->rec, REC_COPY, sizeof(*copy) + 64, f->now, PID, PID);
	copy->stack_id = 3;
	copy->stack_size = 64;
	copy->pc = CODE + CODE_SIZE - 16; /* no function of this program is there */
	unwinder_copy(f->u, NULL, copy, f->now);
	add_code_module(f, 0, true);
	map_code(f, PID, CODE, 0);
	unwinder_copy(f->u, process_of(f, PID), copy, f->now);
	flush_unwinder(f, 1);
	assert_int_equal(f->sent.count, 2);
	assert_int_equal(f->sent.items[0]->rec.flags, STACK_LATER | STACK_UNKNOWN);
	assert_int_equal(f->sent.items[1]->rec.flags, STACK_LATER | STACK_BROKEN);
	free(copy);
}

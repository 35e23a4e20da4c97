/* SPDX-License-Identifier: MIT */
/* Tables compiled by several threads equal those of one thread, and all share rules. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/unwind/native/table_pool.h"
#include "tests/unit/test.h"

#define FILES 60
#define LARGE (8u << 20)
#define FOREVER_NS (1ull << 60)

struct fixture {
	struct rule_store *store;
	const struct unwind_rule *rules;
	int event_fd;
	struct table_pool *pool;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->store = rule_store_new(NULL);
	f->rules = rule_store_rules(f->store);
	f->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->pool = table_pool_new(f->store, f->event_fd);
	*state = f;
	return f->pool ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	table_pool_free(f->pool);
	close(f->event_fd);
	rule_store_free(f->store);
	free(f);
	return 0;
}

/* Two different files: this program, and the C library in use. */
static int open_file(uint32_t id)
{
	int fd = open(id % 2 ? "/proc/self/exe" : "/lib64/ld-linux-x86-64.so.2",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fd = open("/lib/ld-linux-aarch64.so.1", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* The same file, large because of zeros at its end. */
static int open_large_file(uint32_t id)
{
	int fd = open_file(id), copy = memfd_create("large", MFD_CLOEXEC);
	char piece[65536];
	ssize_t size;

	while ((size = read(fd, piece, sizeof(piece))) > 0)
		assert_int_equal(write(copy, piece, (size_t)size), size);
	close(fd);
	assert_int_equal(lseek(copy, 0, SEEK_END) < LARGE ? ftruncate(copy, LARGE) : 0, 0);
	return copy;
}

static void compile_here(uint32_t id, struct unwind_rules *rules, struct unwind_table *table)
{
	int fd = open_file(id);

	unwind_rules_init(rules);
	assert_int_equal(unwind_table_compile(fd, rules, NULL, table, NULL), 0);
	close(fd);
}

static void assert_same_table(const struct fixture *f, const struct unwind_table *table,
			      uint32_t id)
{
	struct unwind_rules rules;
	struct unwind_table expected;

	compile_here(id, &rules, &expected);
	assert_int_equal(table->rows.count, expected.rows.count);
	assert_int_equal(table->start, expected.start);
	assert_int_equal(table->page_count, expected.page_count);
	for (size_t i = 0; i < expected.rows.count; i++) {
		const struct unwind_row *row = &table->rows.items[i];
		const struct unwind_row *other = &expected.rows.items[i];

		assert_int_equal(row->pc_low, other->pc_low);
		assert_memory_equal(&f->rules[row->rule], &rules.rows.items[other->rule],
				    sizeof(*f->rules));
	}
	unwind_table_release(&expected);
	unwind_rules_release(&rules);
}

static size_t used_rules(const struct fixture *f)
{
	const struct unwind_rule none = {0};
	size_t count = 0;

	for (size_t i = 0; i < UNWIND_RULES_MAX; i++)
		count += memcmp(&f->rules[i], &none, sizeof(none)) != 0;
	return count;
}

static size_t rules_here(void)
{
	struct unwind_rules rules, others;
	struct unwind_table table;
	size_t count;

	compile_here(0, &rules, &table);
	unwind_table_release(&table);
	compile_here(1, &others, &table);
	unwind_table_release(&table);
	vec_for_each(&others.rows, const struct unwind_rule *, rule)
		unwind_rules_intern(&rules, rule);
	/* Row 0, for no rule, is all zero. */
	count = rules.rows.count - 1;
	unwind_rules_release(&rules);
	unwind_rules_release(&others);
	return count;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(every_file_has_its_table)
{
	struct fixture *f = *state;
	struct table_result result;
	bool seen[FILES] = {false};
	size_t count = 0;

	assert_true(table_pool_is_empty(f->pool));
	for (uint32_t id = 0; id < FILES; id++)
		assert_true(table_pool_submit(f->pool, id,
					      id % 7 ? open_file(id) : open_large_file(id)));
	assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
	assert_false(table_pool_is_empty(f->pool));
	while (table_pool_next(f->pool, &result)) {
		assert_false(seen[result.module_id]);
		seen[result.module_id] = true;
		assert_same_table(f, &result.table, result.module_id);
		unwind_table_release(&result.table);
		count++;
	}
	assert_int_equal(count, FILES);
	assert_true(table_pool_is_empty(f->pool));
	/* Each rule has one number, whatever thread met it. */
	assert_int_equal(used_rules(f), rules_here());
}

/* Results that nobody takes use up room, too. */
CASE(there_is_room_for_so_many)
{
	struct fixture *f = *state;
	struct table_result result;
	int fd = open_file(0);

	assert_int_equal(table_pool_room(f->pool), TABLE_POOL_MAX);
	for (uint32_t id = 0; id < TABLE_POOL_MAX; id++)
		assert_true(table_pool_submit(f->pool, id, open("/dev/null", O_RDONLY)));
	assert_false(table_pool_submit(f->pool, TABLE_POOL_MAX, fd));
	assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
	assert_int_equal(table_pool_room(f->pool), 0);
	assert_true(table_pool_next(f->pool, &result));
	assert_int_equal(table_pool_room(f->pool), 1);
	assert_true(table_pool_submit(f->pool, TABLE_POOL_MAX, fd));
}

CASE(results_are_announced)
{
	struct fixture *f = *state;
	struct pollfd readable = {.fd = f->event_fd, .events = POLLIN};
	struct table_result result;

	for (int round = 0; round < 3; round++) {
		assert_int_equal(poll(&readable, 1, 0), 0);
		table_pool_submit(f->pool, 0, open_file(0));
		table_pool_submit(f->pool, 1, open_file(1));
		assert_int_equal(poll(&readable, 1, -1), 1);
		assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
		for (int i = 0; i < 2; i++) {
			assert_true(table_pool_next(f->pool, &result));
			unwind_table_release(&result.table);
		}
		assert_false(table_pool_next(f->pool, &result));
	}
}

CASE(what_is_no_file_of_code_has_an_empty_one)
{
	struct fixture *f = *state;
	struct table_result result;

	table_pool_submit(f->pool, 7, open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
	assert_true(table_pool_next(f->pool, &result));
	assert_int_equal(result.module_id, 7);
	assert_int_equal(result.table.page_count, 0);
}

CASE(the_end_does_not_wait_for_what_is_queued)
{
	struct fixture *f = *state;

	assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
	for (uint32_t id = 0; id < FILES; id++)
		table_pool_submit(f->pool, id, open_file(id));
	/* Released by teardown(), whatever is in it by then. */
}

CASE(files_above_the_limit_get_no_table)
{
	struct fixture *f = *state;
	struct table_result result;
	unsigned int taken = 0;

	table_pool_limit(f->pool, LARGE - 1);
	table_pool_submit(f->pool, 0, open_large_file(0));
	table_pool_submit(f->pool, 2, open_file(0));
	assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
	while (table_pool_next(f->pool, &result)) {
		taken++;
		assert_int_equal(result.table.rows.count > 0, result.module_id == 2);
		table_result_release(&result);
	}
	assert_int_equal(taken, 2);
}

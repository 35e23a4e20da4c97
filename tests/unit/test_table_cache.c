/* SPDX-License-Identifier: MIT */
/* Tables that are kept for later recordings: equal to those compiled, and nobody else's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"
#include "lib/code/unwind/native/table_cache.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

static const struct table_probe any = {runtime_probe, runtime_layout_is_sane, 1};
static const struct table_probe other = {runtime_probe, runtime_layout_is_sane, 2};

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	*state = &s;
	return 0;
}

/* A file that has not just been written, on the file system of the machine's programs. */
static int open_library(void)
{
	int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fd = open("/lib/ld-linux-aarch64.so.1", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static struct table_cache *open_cache(const struct scratch *scratch)
{
	_cleanup_free_ char *folder = scratch_path(scratch, "cache/prof");

	return table_cache_new(folder);
}

/* A thread that compiles. */
struct thread {
	struct rule_store *store;
	struct rule_numbers own;
};

static void thread_init(struct thread *t)
{
	t->store = rule_store_new(NULL);
	rule_numbers_init(&t->own);
}

static void thread_release(struct thread *t)
{
	rule_numbers_release(&t->own);
	rule_store_free(t->store);
}

static void compile(struct thread *t, int fd, struct table_result *result)
{
	struct runtime_layout layout = {.kind = RUNTIME_PHP};

	*result = (struct table_result){0};
	assert_int_equal(unwind_table_compile(fd, &t->own.rules, NULL, &result->table, NULL), 0);
	assert_true(result->table.rows.count > 100);
	layout.php.version = 0x0802;
	layout.php.code_count = 80;
	layout.php.code = 88;
	layout.php.file = 152;
	assert_true(runtime_layout_is_sane(&layout));
	result->layout = malloc(sizeof(layout));
	memcpy(result->layout, &layout, sizeof(layout));
	result->refusal = strdup("why not");
}

static bool load(struct table_cache *cache, int fd, const struct table_probe *probe,
		 struct thread *t, struct table_result *result)
{
	struct table_origin origin;

	*result = (struct table_result){.module_id = 7};
	return table_cache_identify(cache, fd, probe, &origin) &&
	       table_cache_load(cache, &origin, t->store, &t->own, probe->is_sane, result);
}

/* Keeps what is compiled from the library. Returns its descriptor. */
static int keep(struct table_cache *cache, struct thread *t, struct table_result *result)
{
	int fd = open_library();
	_cleanup_free_ struct unwind_row *rows = NULL;
	struct table_origin origin;
	struct table_write write;

	compile(t, fd, result);
	assert_true(table_cache_identify(cache, fd, &any, &origin));
	assert_true(table_cache_prepare(fd, &origin, result, &write));
	rows = malloc(result->table.rows.count * sizeof(*rows));
	memcpy(rows, result->table.rows.items, result->table.rows.count * sizeof(*rows));
	table_cache_store(cache, &write, rows, &t->own.rules);
	return fd;
}

static bool is_kept(const struct scratch *scratch, int fd, const struct table_probe *probe)
{
	struct table_cache *cache = open_cache(scratch);
	struct table_result result = {0};
	struct thread t;
	bool found;

	thread_init(&t);
	found = cache && load(cache, fd, probe, &t, &result);
	table_result_release(&result);
	thread_release(&t);
	table_cache_free(cache);
	return found;
}

TEST(kept_results_equal_compiled_ones)
{
	struct table_cache *cache = open_cache(*state);
	static const struct unwind_rule first = {.cfa_kind = UNWIND_CFA_REG, .cfa_offset = 12345};
	struct table_result made, found;
	struct runtime_layout layout;
	struct table_origin origin;
	struct thread a, b;
	int fd;

	assert_non_null(cache);
	thread_init(&a);
	thread_init(&b);
	/* The numbers of the second thread and of its store are others. */
	unwind_rules_intern(&b.own.rules, &first);
	fd = keep(cache, &a, &made);
	assert_true(load(cache, fd, &any, &b, &found));
	assert_int_equal(found.module_id, 7);
	assert_int_equal(found.table.start, made.table.start);
	assert_int_equal(found.table.entry, made.table.entry);
	assert_int_equal(found.table.has_entry, made.table.has_entry);
	assert_int_equal(found.table.page_count, made.table.page_count);
	assert_memory_equal(found.table.index.items, made.table.index.items,
			    made.table.index.count * sizeof(uint32_t));
	assert_int_equal(found.table.rows.count, made.table.rows.count);
	for (size_t i = 0; i < made.table.rows.count; i++) {
		const struct unwind_row *x = &made.table.rows.items[i];
		const struct unwind_row *y = &found.table.rows.items[i];

		assert_int_equal(x->pc_low, y->pc_low);
		assert_memory_equal(&a.own.rules.rows.items[x->rule],
				    &rule_store_rules(b.store)[y->rule],
				    sizeof(struct unwind_rule));
	}
	assert_memory_equal(found.layout, made.layout, sizeof(*made.layout));
	assert_string_equal(found.refusal, "why not");
	assert_true(table_cache_identify(cache, fd, &any, &origin));
	assert_true(table_cache_load_layout(cache, &origin, any.is_sane, &layout));
	assert_memory_equal(&layout, made.layout, sizeof(layout));
	table_result_release(&found);
	table_result_release(&made);
	close(fd);
	thread_release(&a);
	thread_release(&b);
	table_cache_free(cache);
}

static void keep_one(const struct scratch *scratch, int *fd)
{
	struct table_cache *cache;
	struct table_result made;
	struct thread t;

	scratch_run(scratch, "rm -rf cache there");
	cache = open_cache(scratch);
	thread_init(&t);
	assert_non_null(cache);
	*fd = keep(cache, &t, &made);
	table_result_release(&made);
	thread_release(&t);
	table_cache_free(cache);
	assert_true(is_kept(scratch, *fd, &any));
}

TEST(files_of_others_and_damaged_ones_are_not_used)
{
	static const char *const spoil[] = {
		"chmod 666 cache/prof/*", /* others may have written it */
		"chmod 777 cache/prof",
		"f=$(ls cache/prof/*) && mv $f there && ln -s $PWD/there $f",
		"mv cache/prof there && ln -s $PWD/there cache/prof",
		"truncate -s -1 cache/prof/*",
		"truncate -s 100 cache/prof/*",
		"printf x >>$(ls cache/prof/*)",
		/* Another format, start of the machine, program, file. */
		"printf x | dd of=$(ls cache/prof/*) conv=notrunc status=none",
		"printf x | dd of=$(ls cache/prof/*) bs=1 seek=8 conv=notrunc status=none",
		"printf xyz | dd of=$(ls cache/prof/*) bs=1 seek=32 conv=notrunc status=none",
		"printf xyz | dd of=$(ls cache/prof/*) bs=1 seek=104 conv=notrunc status=none",
		/* A row of a rule that does not exist. */
		"printf '\\377\\377' | dd of=$(ls cache/prof/*) bs=1 status=none conv=notrunc "
		"seek=$(($(stat -c %s cache/prof/*) - 10))",
	};
	const struct scratch *scratch = *state;
	int fd = -1;

	for (size_t i = 0; i < sizeof(spoil) / sizeof(spoil[0]); i++) {
		keep_one(scratch, &fd);
		scratch_run(scratch, "%s", spoil[i]);
		if (is_kept(scratch, fd, &any))
			fail_msg("used after: %s", spoil[i]);
		close(fd);
	}
}

TEST(results_of_other_searches_are_not_used)
{
	int fd = -1;

	keep_one(*state, &fd);
	assert_true(is_kept(*state, fd, &any));
	assert_false(is_kept(*state, fd, &other));
	close(fd);
}

TEST(files_that_may_be_mistaken_for_others_are_not_kept)
{
	const struct scratch *scratch = *state;
	struct table_cache *cache = open_cache(scratch);
	_cleanup_close_ int fresh = -1, pipe = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct table_origin origin;

	scratch_run(scratch, "cp /proc/%d/exe fresh", (int)getpid());
	fresh = scratch_open(scratch, "fresh");
	/* It may be changed again without another time. */
	assert_false(table_cache_identify(cache, fresh, &any, &origin));
	assert_false(table_cache_identify(cache, pipe, &any, &origin));
	assert_false(table_cache_identify(NULL, fresh, &any, &origin));
	table_cache_free(cache);
}

/* Finds a runtime in any file. */
static int find_any(int fd, struct runtime_layout *layout, struct error *err)
{
	*layout = (struct runtime_layout){.kind = RUNTIME_PHP};
	return 0;
}

static int find_none(int fd, struct runtime_layout *layout, struct error *err)
{
	return 0;
}

static bool is_any_sane(const struct runtime_layout *layout)
{
	return true;
}

TEST(the_table_of_an_expected_runtime_is_kept_before_it_is_mapped)
{
	static const struct table_probe none = {find_none, is_any_sane, 3};
	static const struct table_probe found = {find_any, is_any_sane, 4};
	struct table_cache *cache = open_cache(*state);
	struct rule_store *store = rule_store_new(NULL);
	struct table_pool *pool = table_pool_new(store, -1);
	_cleanup_close_ int fd = open_library();
	struct runtime_layout layout = {0};

	table_pool_keep(pool, cache);
	table_pool_probe(pool, &none);
	assert_false(table_pool_find_runtime(pool, fd, &layout));
	assert_false(is_kept(*state, fd, &none));
	table_pool_probe(pool, &found);
	assert_true(table_pool_find_runtime(pool, fd, &layout));
	assert_int_equal(layout.kind, RUNTIME_PHP);
	assert_true(is_kept(*state, fd, &found));
	assert_true(table_pool_is_empty(pool));
	assert_true(table_pool_free(pool));
	rule_store_free(store);
	table_cache_free(cache);
}

TEST(a_folder_that_cannot_be_made_keeps_nothing)
{
	assert_null(table_cache_new("/proc/none/prof"));
	table_cache_free(NULL);
}

TEST_GROUP(setup, scratch_teardown);

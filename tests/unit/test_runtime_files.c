/* SPDX-License-Identifier: MIT */
/* Runtimes in mapped files: who is told of them, and when. */
#include <stdbool.h>

#include "lib/base/cleanup.h"
#include "lib/live/unwind/runtime_files.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

struct told {
	int found, described, refused;
	bool is_unwanted; /* found() says no */
};

static bool on_found(void *ctx, const struct runtime_layout *layout, uint32_t *number)
{
	struct told *told = ctx;

	assert_int_equal(layout->kind, RUNTIME_PYTHON);
	told->found++;
	*number = 7;
	return !told->is_unwanted;
}

static void on_described(void *ctx)
{
	((struct told *)ctx)->described++;
}

static void on_refused(void *ctx, const char *why)
{
	assert_string_equal(why, "too old");
	((struct told *)ctx)->refused++;
}

struct fixture {
	struct told told;
	struct runtime_files files;
	struct module_tables modules;
};

static void setup(struct fixture *f)
{
	struct rec_module rec = {.module_id = 1};

	*f = (struct fixture){0};
	f->files.hooks = (struct runtime_hooks){
		.found = on_found,
		.described = on_described,
		.refused = on_refused,
		.ctx = &f->told,
	};
	module_tables_init(&f->modules, NULL, 4096);
	module_tables_add(&f->modules, &rec, TABLE_PENDING);
}

static void teardown(struct fixture *f)
{
	runtime_files_release(&f->files);
	module_tables_release(&f->modules);
}

static void take(struct fixture *f, bool has_runtime)
{
	const struct runtime_layout layout = {.kind = RUNTIME_PYTHON};
	struct table_result result = {.module_id = 1};

	if (has_runtime)
		result.layout = xmemdup(&layout, sizeof(layout));
	else
		result.refusal = xstrdup("too old");
	runtime_files_take(&f->files, &f->modules, &result);
	table_result_release(&result);
}

/* Loading what follows a runtime takes longer than a table, for which native stacks wait. */
TEST(nobody_is_told_before_the_tables_are_there)
{
	struct fixture f;

	setup(&f);
	assert_false(runtime_files_add_started(&f.files, &f.modules));
	take(&f, true);
	assert_int_equal(f.told.found, 0);
	assert_int_equal(f.modules.rows.items[1].runtime, RUNTIME_NONE);
	assert_true(runtime_files_add_started(&f.files, &f.modules));
	assert_int_equal(f.told.found, 1);
	assert_int_equal(f.told.described, 0);
	assert_int_equal(f.modules.rows.items[1].runtime, RUNTIME_PYTHON);
	assert_int_equal(f.modules.rows.items[1].layout, 7);
	runtime_files_end(&f.files);
	assert_int_equal(f.told.described, 1);
	/* A table that is made again. */
	take(&f, true);
	assert_false(runtime_files_add_started(&f.files, &f.modules));
	assert_int_equal(f.told.found, 1);
	teardown(&f);
}

TEST(what_cannot_be_followed_is_not_read)
{
	struct fixture f;

	setup(&f);
	take(&f, false);
	assert_int_equal(f.told.refused, 1);
	assert_true(runtime_files_add_started(&f.files, &f.modules));
	assert_int_equal(f.modules.rows.items[1].runtime, RUNTIME_UNREAD);
	f.modules.rows.items[1].runtime = RUNTIME_NONE;
	f.told.is_unwanted = true;
	take(&f, true);
	assert_true(runtime_files_add_started(&f.files, &f.modules));
	assert_int_equal(f.told.found, 1);
	assert_int_equal(f.modules.rows.items[1].runtime, RUNTIME_UNREAD);
	/* The recording may end before anybody is told. */
	take(&f, true);
	teardown(&f);
}

TEST(expected_files_are_told_of_at_once)
{
	const struct runtime_layout layout = {.kind = RUNTIME_PYTHON};
	struct fixture f;

	setup(&f);
	runtime_files_expect(&f.files, &layout);
	assert_int_equal(f.told.found, 1);
	assert_int_equal(f.told.described, 1);
	teardown(&f);
}

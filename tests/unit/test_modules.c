/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/tables/profile.h"
#include "lib/model/tables/modules.h"
#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define CASE(name) TEST_WITH(name, fed_setup, fed_teardown)

CASE(segments_say_where_an_offset_lies)
{
	struct modules *modules = &((struct fed *)*state)->p->modules;
	module_id id = modules_add(modules, PROFILE_MODULE_FILE, 0, 0);
	struct module *m = modules_get(modules, id);
	uint64_t rva;

	/* Layout of gold: the second segment begins in the page where the first ends. */
	vec_push(&m->segments, (struct module_segment){0x0, 0x1200, 0x400000, false});
	vec_push(&m->segments, (struct module_segment){0x1100, 0x900, 0x402100, true});
	assert_true(module_offset_to_rva(m, 0x10, &rva));
	assert_int_equal(rva, 0x10);
	assert_true(module_offset_to_rva(m, 0x1150, &rva));
	assert_int_equal(rva, 0x2150);
	assert_true(module_offset_to_rva(m, 0x19ff, &rva));
	assert_int_equal(rva, 0x29ff);
	assert_false(module_offset_to_rva(m, 0x1a00, &rva));
	/* No function reaches further. */
	assert_int_equal(module_bytes_from(m, 0x10), 0x11f0);
	assert_int_equal(module_bytes_from(m, 0x2150), 0x8b0);
	assert_int_equal(module_bytes_from(m, 0x29ff), 1);
	assert_int_equal(module_bytes_from(m, 0x2a00), MODULE_CODE_MAX);
	vec_push(&m->segments, (struct module_segment){0x2000, UINT64_MAX, 0x500000, true});
	assert_int_equal(module_bytes_from(m, 0x100000), MODULE_CODE_MAX);
}

CASE(without_segments_the_offset_is_the_rva)
{
	struct modules *modules = &((struct fed *)*state)->p->modules;
	module_id id = modules_add(modules, PROFILE_MODULE_KERNEL, 0, 0);
	const struct module *m = modules_get(modules, id);
	uint64_t rva;

	assert_true(module_offset_to_rva(m, UINT64_MAX, &rva));
	assert_int_equal(rva, UINT64_MAX);
	assert_true(module_is_kernel(m));
	assert_int_equal(m->file_key, UINT32_MAX);
}

TEST(reasons_have_texts)
{
	struct module m = {.build_id = {0x1a, 0x02}, .build_id_size = 2};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (int reason = 0; reason < SYMBOL_REASON_COUNT; reason++)
		assert_non_null(symbol_reason_text((enum symbol_reason)reason));
	m.reason = SYMBOLS_FOUND;
	module_describe_reason(&m, &text);
	assert_int_equal(text.size, 0);
	m.reason = SYMBOLS_NO_DEBUG_FILE;
	module_describe_reason(&m, &text);
	assert_string_equal(text.text, "no debug file for build id 1a02");
}

CASE(names_come_from_paths)
{
	static const char *const cases[][2] = {
		{"/usr/lib/libc.so.6", "libc.so.6"},
		{"[vdso]", "[vdso]"},
		{"[a/b]", "[a/b]"},
		{"/tmp/x (deleted)", "x"},
		{"/memfd:a b (deleted)", "memfd:a b"},
		{" (deleted)", " (deleted)"},
		{"relative", "relative"},
		{"/ends/in/", "/ends/in/"},
		{"", "[unknown]"},
	};
	struct fed *f = *state;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct module *m;

		feed_module(f, i + 5, cases[i][0]);
		m = modules_get(&f->p->modules, i);
		fed_expect_name(f, m->name, cases[i][1]);
		fed_expect_name(f, m->path, cases[i][0][0] ? cases[i][0] : "[unknown]");
		assert_int_equal(m->file_key, i + 5);
	}
}

CASE(a_file_may_be_called_deleted)
{
	static const char path[] = "/tmp/x (deleted)";
	size_t size = rec_module_size(0, strlen(path));
	_cleanup_free_ struct rec_module *rec = calloc(1, size);
	struct fed *f = *state;

	feed_module(f, 5, path);
	assert_true(modules_get(&f->p->modules, 0)->was_deleted);
	record_init(&rec->rec, REC_MODULE, size, 0, 0, 0);
	rec->rec.flags = MODULE_NAMED_DELETED;
	rec->module_id = 6;
	rec->path_size = (uint16_t)strlen(path);
	memcpy(rec->segments, path, strlen(path));
	assert_true(record_is_valid(&rec->rec, size));
	session_feed(f->s, &rec->rec);
	assert_false(modules_get(&f->p->modules, 1)->was_deleted);
	fed_expect_name(f, modules_get(&f->p->modules, 1)->name, "x (deleted)");
}

CASE(the_newest_module_of_an_id_wins)
{
	struct fed *f = *state;

	feed_module(f, 7, "/one");
	feed_map(f, 1, 10, 0x1000, 0x2000, 0, 7);
	feed_module(f, 7, "/two");
	feed_module(f, NO_REC_MODULE, "/none");
	feed_map(f, 2, 10, 0x2000, 0x3000, 0, 7);
	feed_leaf(f, 3, 10, 10, 0x1000);
	feed_leaf(f, 4, 10, 10, 0x2000);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "one+0x0");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 1, "two+0x0");
	assert_int_equal(f->p->modules.rows.count, 2);
}

/* Feeds a record of /lib/x.so, with a segment unless the file could not be opened. */
static void feed_opening(struct fed *f, uint64_t time, uint8_t flags)
{
	static const char path[] = "/lib/x.so";
	bool is_opened = !(flags & MODULE_UNOPENED);
	size_t size = rec_module_size(is_opened, strlen(path));
	_cleanup_free_ struct rec_module *rec = calloc(1, size);

	record_init(&rec->rec, REC_MODULE, size, time, 0, 0);
	rec->rec.flags = flags;
	rec->module_id = 7;
	rec->build_id_size = 2;
	rec->path_size = (uint16_t)strlen(path);
	rec->segment_count = is_opened;
	if (is_opened)
		rec->segments[0] = (struct rec_segment){0x1000, 0x1000, 0x401000, 1, 0};
	memcpy(&rec->segments[is_opened], path, strlen(path));
	assert_true(record_is_valid(&rec->rec, size));
	session_feed(f->s, &rec->rec);
}

/* Samples of before and after lie in one module. Captures repeat its record. */
CASE(a_file_is_opened_late)
{
	struct fed *f = *state;
	const struct module *module;

	feed_opening(f, 0, MODULE_UNOPENED | MODULE_ENDED);
	feed_map(f, 1, 10, 0x1000, 0x2000, 0x1000, 7);
	feed_leaf(f, 2, 10, 10, 0x1010);
	module = modules_get(&f->p->modules, 0);
	assert_int_equal(module->opening, MODULE_PROCESS_ENDED);
	feed_opening(f, 3, MODULE_COMPLETED);
	feed_leaf(f, 4, 10, 10, 0x1010);
	feed_opening(f, 5, MODULE_COMPLETED);
	assert_int_equal(f->p->modules.rows.count, 1);
	module = modules_get(&f->p->modules, 0);
	assert_int_equal(module->opening, MODULE_OPENED);
	assert_int_equal(module->segments.count, 1);
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 0, "x.so+0x1010");
	fed_expect_stack(f, fed_thread(f, 10, 0, 10), 1, "x.so+0x1010");
}

/* SPDX-License-Identifier: MIT */
/* Several runtimes of one process: which are described, in which order, and since when. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bpf/runtime_layout.h"
#include "lib/base/cleanup.h"
#include "lib/live/unwind/runtime_files.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define FILE_SIZE 0x10000u
#define PLACE(n) (0x7f0000000000ull + (n)*0x1000000ull)
#define SECOND 1000000000ull
#define NO_PROCESS 0x7ffffff0u

struct fixture {
	struct runtime_files files;
	struct module_tables modules;
	struct live_process process;
	struct space space;
	struct unwind_space told;
	uint64_t stamp, now;
	int starts[8]; /* answers of start(), by layout */
	unsigned int asked[8], refused;
};

static int start(void *ctx, const struct starting_process *process, uint32_t *layout)
{
	struct fixture *f = ctx;

	assert_int_equal(process->pid, f->process.pid);
	f->asked[*layout]++;
	return f->starts[*layout];
}

static void on_refused(void *ctx, const char *why)
{
	((struct fixture *)ctx)->refused++;
}

static void setup(struct fixture *f)
{
	*f = (struct fixture){.process = {.pid = NO_PROCESS}, .now = SECOND};
	f->files.hooks = (struct runtime_hooks){.start = start, .refused = on_refused, .ctx = f};
	f->files.has_found = true;
	module_tables_init(&f->modules, NULL, 4096);
	f->space.mappings = mapping_table_new();
	for (size_t i = 0; i < 8; i++)
		f->starts[i] = 1;
}

static void teardown(struct fixture *f)
{
	runtime_files_release(&f->files);
	module_tables_release(&f->modules);
	mapping_table_drop(f->space.mappings);
	vec_release(&f->space.runtimes.rows);
}

/* Adds a file with a runtime, whose layout has the number of the module. */
static void add_file(struct fixture *f, uint32_t module, enum runtime_kind kind)
{
	struct rec_module *rec = xcalloc(1, rec_module_size(1, 0));

	rec->module_id = module;
	rec->segment_count = 1;
	rec->segments[0] = (struct rec_segment){.file_size = FILE_SIZE, .executable = 1};
	module_tables_add(&f->modules, rec, TABLE_NONE);
	f->modules.rows.items[module].runtime = kind;
	f->modules.rows.items[module].layout = module;
	free(rec);
}

static void map(struct fixture *f, uint32_t module, uint64_t at)
{
	const struct mapping mapping = {.start = at, .end = at + FILE_SIZE, .module = module};

	mapping_table_insert(&f->space.mappings, &mapping, ++f->stamp);
}

static void describe(struct fixture *f)
{
	f->told = (struct unwind_space){0};
	f->now += SECOND * 2;
	runtime_files_drop_unmapped(&f->modules, &f->process, &f->space, &f->stamp);
	runtime_files_describe(&f->files, &f->modules, &f->process, &f->space, f->now, &f->told);
}

/* Expects runtimes by their layouts, as digits; '-' for those that are not read. */
static void expect(struct fixture *f, const char *layouts)
{
	describe(f);
	for (uint8_t i = 0; i < SPACE_RUNTIMES; i++) {
		const struct space_runtime *runtime = &f->told.runtimes[i];

		if (!*layouts) {
			assert_int_equal(runtime->kind, RUNTIME_NONE);
			continue;
		}
		assert_int_equal(runtime->at, i);
		if (*layouts == '-') {
			assert_int_equal(runtime->kind, RUNTIME_UNREAD);
			layouts++;
			continue;
		}
		assert_int_equal(runtime->layout, *layouts++ - '0');
		assert_int_equal(runtime->kind, f->modules.rows.items[runtime->layout].runtime);
	}
}

TEST(order_does_not_depend_on_addresses)
{
	for (int turn = 0; turn < 2; turn++) {
		struct fixture f;

		setup(&f);
		add_file(&f, 1, RUNTIME_PYTHON);
		add_file(&f, 2, RUNTIME_RUBY);
		add_file(&f, 3, RUNTIME_HOTSPOT);
		add_file(&f, 4, RUNTIME_V8);
		for (uint32_t i = 1; i <= 4; i++)
			map(&f, i, PLACE(turn ? i : 5 - i));
		expect(&f, "3241");
		teardown(&f);
	}
}

TEST(labels_come_last)
{
	struct fixture f;

	setup(&f);
	add_file(&f, 1, RUNTIME_GO);
	add_file(&f, 2, RUNTIME_PYTHON);
	map(&f, 1, PLACE(1));
	map(&f, 2, PLACE(2));
	expect(&f, "21");
	teardown(&f);
}

/* The virtual machine is mapped long before it has started, or never does. */
TEST(one_that_has_not_started_does_not_block_others)
{
	struct fixture f;

	setup(&f);
	add_file(&f, 1, RUNTIME_HOTSPOT);
	add_file(&f, 2, RUNTIME_PYTHON);
	map(&f, 1, PLACE(1));
	map(&f, 2, PLACE(2));
	f.starts[1] = 0;
	expect(&f, "2");
	expect(&f, "2");
	assert_int_equal(f.asked[1], 2);
	assert_int_equal(f.asked[2], 1);
	assert_int_equal(f.files.waiting.count, 1);
	f.starts[1] = 1;
	expect(&f, "12");
	expect(&f, "12");
	assert_int_equal(f.asked[1], 3);
	teardown(&f);
}

/* No more than about a third of the time until it starts is missed. */
TEST(one_that_has_not_started_is_asked_again_soon)
{
	uint64_t began, asked = 0;
	struct fixture f;

	setup(&f);
	add_file(&f, 1, RUNTIME_HOTSPOT);
	map(&f, 1, PLACE(1));
	f.starts[1] = 0;
	began = asked = f.now;
	for (; f.now < began + 10 * SECOND; f.now += SECOND / 1000) {
		unsigned int before = f.asked[1];

		runtime_files_describe(&f.files, &f.modules, &f.process, &f.space, f.now, &f.told);
		if (f.asked[1] != before)
			asked = f.now;
		assert_true(f.now - asked <= (f.now - began) / 3 + SECOND / 100);
		assert_true(f.now - asked <= SECOND);
	}
	assert_true(f.asked[1] < 50);
	teardown(&f);
}

TEST(one_that_is_refused_is_not_read)
{
	struct fixture f;

	setup(&f);
	add_file(&f, 1, RUNTIME_HOTSPOT);
	add_file(&f, 2, RUNTIME_PYTHON);
	map(&f, 1, PLACE(1));
	map(&f, 2, PLACE(2));
	f.starts[1] = -1;
	expect(&f, "2-");
	expect(&f, "2-");
	assert_int_equal(f.asked[1], 1);
	/* One entry is for all such files. */
	add_file(&f, 3, RUNTIME_UNREAD);
	map(&f, 3, PLACE(3));
	expect(&f, "2-");
	assert_int_equal(f.asked[3], 0);
	assert_int_equal(f.files.waiting.count, 0);
	teardown(&f);
}

TEST(two_of_a_kind_have_states_of_their_own)
{
	struct fixture f;

	setup(&f);
	add_file(&f, 1, RUNTIME_PYTHON);
	add_file(&f, 2, RUNTIME_PYTHON);
	map(&f, 2, PLACE(1));
	map(&f, 1, PLACE(2));
	f.starts[1] = 0;
	expect(&f, "2");
	f.starts[1] = 1;
	expect(&f, "12");
	assert_int_equal(f.told.runtimes[0].bias, PLACE(2));
	assert_int_equal(f.told.runtimes[1].bias, PLACE(1));
	/* The same file once more, as by dlmopen(3). */
	map(&f, 1, PLACE(3));
	expect(&f, "112");
	assert_int_equal(f.told.runtimes[1].bias, PLACE(3));
	teardown(&f);
}

/* A library of the same runtime in its place begins anew. */
TEST(one_that_is_unmapped_is_forgotten)
{
	struct fixture f;

	setup(&f);
	add_file(&f, 1, RUNTIME_PYTHON);
	add_file(&f, 2, RUNTIME_PYTHON);
	map(&f, 1, PLACE(1));
	expect(&f, "1");
	map(&f, 2, PLACE(1));
	expect(&f, "2");
	map(&f, 1, PLACE(1));
	expect(&f, "1");
	assert_int_equal(f.asked[1], 2);
	teardown(&f);
}

/* Maps this program as file 1. */
static void map_own(struct fixture *f, uint8_t *at)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_ptr_equal(mmap(at, FILE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0),
			 at);
	close(fd);
	map(f, 1, (uint64_t)(uintptr_t)at);
}

static void unmap_own(uint8_t *at)
{
	assert_int_equal(munmap(at, FILE_SIZE), 0);
}

static void expect_bias(const struct fixture *f, size_t at, const uint8_t *bias)
{
	assert_int_equal(f->told.runtimes[at].bias, (uint64_t)(uintptr_t)bias);
}

/* The kernel does not tell that a library was unloaded. */
TEST(one_that_is_loaded_anew_elsewhere_counts_once)
{
	const size_t size = 5 * FILE_SIZE;
	uint8_t *first = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*second = first + 2 * FILE_SIZE, *third = first + 4 * FILE_SIZE;
	struct fixture f;

	assert_ptr_not_equal(first, MAP_FAILED);
	setup(&f);
	f.process.pid = (uint32_t)getpid();
	add_file(&f, 1, RUNTIME_PERL);
	map_own(&f, first);
	expect(&f, "1");
	map_own(&f, second);
	expect(&f, "11");
	unmap_own(first);
	map_own(&f, third);
	expect(&f, "11");
	expect_bias(&f, 0, second);
	expect_bias(&f, 1, third);
	unmap_own(second);
	unmap_own(third);
	map_own(&f, first);
	expect(&f, "1");
	expect_bias(&f, 0, first);
	munmap(first, size);
	teardown(&f);
}

/* Several mappings of a file's code are one runtime. */
TEST(a_file_that_is_mapped_in_pieces_counts_once)
{
	struct fixture f;
	struct mapping rest = {
		.start = PLACE(1) + 0x2000,
		.end = PLACE(1) + FILE_SIZE,
		.file_offset = 0x2000,
		.module = 1,
	};

	setup(&f);
	add_file(&f, 1, RUNTIME_PYTHON);
	map(&f, 1, PLACE(1));
	mapping_table_insert(&f.space.mappings, &rest, ++f.stamp);
	expect(&f, "1");
	teardown(&f);
}

/* V8 maps its builtins again, near the code that it makes; here below its program. */
TEST(a_part_that_is_mapped_again_is_no_runtime)
{
	struct fixture f;
	struct mapping part = {
		.start = PLACE(1),
		.end = PLACE(1) + 0x1000,
		.file_offset = 0x2000,
		.module = 1,
	};

	setup(&f);
	add_file(&f, 1, RUNTIME_V8);
	map(&f, 1, PLACE(2));
	mapping_table_insert(&f.space.mappings, &part, ++f.stamp);
	expect(&f, "1");
	assert_int_equal(f.told.runtimes[0].bias, PLACE(2));
	teardown(&f);
}

TEST(too_many_are_refused)
{
	struct fixture f;

	setup(&f);
	for (uint32_t i = 1; i <= SPACE_RUNTIMES; i++) {
		add_file(&f, i, RUNTIME_PYTHON);
		map(&f, i, PLACE(i));
	}
	expect(&f, "1234");
	assert_int_equal(f.refused, 0);
	add_file(&f, 5, RUNTIME_RUBY);
	map(&f, 5, PLACE(5));
	expect(&f, "5123");
	assert_int_equal(f.refused, 1);
	teardown(&f);
}

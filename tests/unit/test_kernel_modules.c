/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/vec.h"
#include "lib/live/kernel_modules.h"
#include "lib/stream/record.h"
#include "lib/stream/stack_record.h"
#include "tests/unit/scratch.h"

/* Newest first, as the kernel has it; c has no address that we may know. */
#define LIST \
	"b 8192 0 - Live 0xffffffffc0003000 (OE)\n" \
	"a_1 40960 1 b, Live 0xffffffffc0001000\n" \
	"rubbish\n" \
	"c 4096 0 - Live 0x0000000000000000\n" \
	"../x 4096 0 - Live 0xffffffffc0009000\n" \
	"d 4096 0 - Unloading 0xffffffffc000a000\n"

#define BASE 0xffffffffc0000000

struct collected {
	struct scratch dir;
	struct file_set *files;
	struct module_registry *registry;
	struct kernel_modules *modules;
	VEC(struct rec_map) maps;
	char paths[8][64];
	uint8_t build_id_sizes[8];
	size_t module_count;
	char sections[512]; /* "MODULE NAME OFFSET TIME\n" each */
};

static void collect(void *ctx, const struct rec *rec)
{
	const struct rec_section *section = (const struct rec_section *)rec;
	const struct rec_module *module = (const struct rec_module *)rec;
	struct collected *c = ctx;
	size_t used = strlen(c->sections);

	assert_true(record_is_valid(rec, record_size(rec)));
	if (rec->kind == REC_MAP) {
		vec_push(&c->maps, *(const struct rec_map *)rec);
	} else if (rec->kind == REC_MODULE) {
		assert_int_equal(module->module_id, c->module_count);
		assert_int_equal(module->kind, MODULE_KERNEL_MODULE);
		c->build_id_sizes[c->module_count] = module->build_id_size;
		snprintf(c->paths[c->module_count++], sizeof(c->paths[0]), "%.*s",
			 (int)module->path_size, rec_module_path(module));
	} else if (rec->kind == REC_SECTION) {
		snprintf(c->sections + used, sizeof(c->sections) - used, "%u %.*s %llx %llu\n",
			 section->module_id, (int)section->name_size, section->name,
			 section->offset, section->rec.time);
	}
}

static int setup(void **state)
{
	static struct collected c;

	c = (struct collected){0};
	scratch_init(&c.dir);
	scratch_run(&c.dir,
		    "mkdir -p a_1/sections a_1/notes b && cd a_1/sections && "
		    "echo 0xffffffffc0001040 >.text && echo 0xffffffffc0001800 >.exit.text "
		    "&& echo 0xffffffffc0001900 >.data && echo 0xffffffffc0001a00 >.init.text "
		    "&& echo 0x0000000000000000 >.text.hidden && echo x >.text.rubbish && "
		    "echo 0xffffffffc0003000 >.text.elsewhere && ln -s .text .text.link && "
		    "printf '\\004\\0\\0\\0\\024\\0\\0\\0\\003\\0\\0\\0GNU\\0%%020d' 7 "
		    ">../notes/.note.gnu.build-id");
	c.files = file_set_new(16);
	c.registry = module_registry_new(c.files, collect, &c);
	c.modules = kernel_modules_new(&(struct kernel_modules_options){
		.registry = c.registry, .sink = collect, .ctx = &c, .dir = c.dir.dir});
	*state = &c;
	return 0;
}

static int teardown(void **state)
{
	struct collected *c = *state;

	kernel_modules_free(c->modules);
	module_registry_free(c->registry);
	file_set_free(c->files);
	vec_release(&c->maps);
	scratch_release(&c->dir);
	return 0;
}

static void check_map(const struct collected *c, size_t row, const char *path, uint64_t start,
		      uint64_t end)
{
	assert_true(row < c->maps.count);
	assert_string_equal(c->paths[c->maps.items[row].module_id], path);
	assert_true(c->maps.items[row].rec.flags & MAP_KERNEL_SPACE);
	assert_int_equal(c->maps.items[row].start, start);
	assert_int_equal(c->maps.items[row].end, end);
	assert_int_equal(c->maps.items[row].file_offset, 0);
}

/* The size is that of code and data, which may be apart: it must not reach into the next one. */
static void each_module_has_its_place(void **state)
{
	struct collected *c = *state;

	kernel_modules_send_list(c->modules, LIST, 5);
	assert_int_equal(c->maps.count, 3);
	check_map(c, 0, "[a_1]", BASE + 0x1000, BASE + 0x3000);
	check_map(c, 1, "[b]", BASE + 0x3000, BASE + 0x5000);
	check_map(c, 2, "[d]", BASE + 0xa000, BASE + 0xb000);
	assert_int_equal(c->build_id_sizes[c->maps.items[0].module_id], 20);
	assert_int_equal(c->build_id_sizes[c->maps.items[1].module_id], 0);
	kernel_modules_send_list(c->modules, NULL, 6);
}

static void sections_are_told_when_they_are_needed(void **state)
{
	struct collected *c = *state;
	char *first;

	kernel_modules_saw(c->modules, BASE + 0x1000, 4);
	kernel_modules_send_list(c->modules, LIST, 5);
	kernel_modules_saw(c->modules, BASE + 0xfff, 6);
	kernel_modules_saw(c->modules, BASE + 0x3000, 6);
	kernel_modules_saw(c->modules, BASE + 0x6000, 6);
	kernel_modules_saw(c->modules, UINT64_MAX, 6);
	assert_string_equal(c->sections, "");
	kernel_modules_saw(c->modules, BASE + 0x2fff, 7);
	/* Folders have no order. */
	first = strstr(c->sections, "0 .text 40 7\n");
	assert_non_null(first);
	assert_non_null(strstr(c->sections, "0 .exit.text 800 7\n"));
	assert_int_equal(strlen(c->sections),
			 strlen("0 .text 40 7\n") + strlen("0 .exit.text 800 7\n"));
	kernel_modules_saw(c->modules, BASE + 0x1000, 8);
	assert_null(strstr(c->sections, " 8\n"));
}

static void saw(struct collected *c, struct rec *rec, bool is_expected)
{
	c->sections[0] = '\0';
	kernel_modules_free(c->modules);
	c->modules = kernel_modules_new(&(struct kernel_modules_options){
		.registry = c->registry, .sink = collect, .ctx = c, .dir = c->dir.dir});
	kernel_modules_send_list(c->modules, "a_1 4096 0 - Live 0xffffffffc0001000\n", 1);
	kernel_modules_saw_record(c->modules, rec, 9);
	assert_int_equal(c->sections[0] != '\0', is_expected);
}

static void all_addresses_of_the_kernel_count(void **state)
{
	struct collected *c = *state;
	struct rec_sample sample = {.leaf = BASE + 0x1010};
	uint64_t addrs[3] = {0, 0, BASE + 0x1010};
	const uint8_t kinds[3] = {FRAME_KERNEL, FRAME_KERNEL, FRAME_NATIVE};
	struct rec_stack *stack = stack_record_new(addrs, kinds, 2, 1);
	union {
		struct rec_copy copy;
		uint64_t words[48];
	} copy = {.copy = {.kernel_depth = 1, .stack_size = 8}};

	record_init(&sample.rec, REC_SAMPLE, sizeof(sample), 1, 2, 3);
	saw(c, &sample.rec, false);
	sample.rec.flags = SAMPLE_LEAF_KERNEL;
	saw(c, &sample.rec, true);
	saw(c, &stack->rec, false);
	free(stack);
	addrs[1] = BASE + 0x1010;
	stack = stack_record_new(addrs, kinds, 2, 1);
	saw(c, &stack->rec, true);
	free(stack);
	record_init(&copy.copy.rec, REC_COPY, sizeof(struct rec_copy) + 16, 1, 2, 3);
	copy.copy.body[1] = BASE + 0x1010;
	saw(c, &copy.copy.rec, false);
	copy.copy.body[0] = BASE + 0x1010;
	saw(c, &copy.copy.rec, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_module_has_its_place, setup, teardown),
		cmocka_unit_test_setup_teardown(sections_are_told_when_they_are_needed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(all_addresses_of_the_kernel_count, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/live/kernel/kernel_modules.h"
#include "lib/stream/record/records.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

/* Newest first, as the kernel lists them; the address of c is hidden. */
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
	char symbols[512]; /* "MODULE NAME OFFSET SIZE TIME\n" each */
	const char *answer; /* the kernel's answer to every question */
	unsigned int asked;
};

static void collect(void *ctx, const struct rec *rec)
{
	const struct rec_section *section = (const struct rec_section *)rec;
	const struct rec_module *module = (const struct rec_module *)rec;
	struct collected *c = ctx;
	const struct rec_symbol *symbol = (const struct rec_symbol *)rec;
	size_t used = strlen(c->sections), named = strlen(c->symbols);

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
	} else if (rec->kind == REC_SYMBOL) {
		snprintf(c->symbols + named, sizeof(c->symbols) - named, "%u %.*s %llx %llx %llu\n",
			 symbol->module_id, (int)symbol->name_size, symbol->name, symbol->offset,
			 symbol->size, symbol->rec.time);
	}
}

static const char *find_symbol(void *ctx, uint64_t addr)
{
	struct collected *c = ctx;

	c->asked++;
	return c->answer;
}

static void new_modules(struct collected *c)
{
	c->modules = kernel_modules_new(&(struct kernel_modules_options){
		.registry = c->registry,
		.sink = collect,
		.ctx = c,
		.dir = c->dir.dir,
		.find_symbol = find_symbol,
		.find_ctx = c,
	});
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
	new_modules(&c);
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

#define CASE(name) TEST_WITH(name, setup, teardown)

/* Sizes include code and data, which may be apart: a module must not reach into the next. */
CASE(each_module_has_its_place)
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

CASE(sections_are_told_when_they_are_needed)
{
	struct collected *c = *state;
	char *first;

	kernel_modules_observe(c->modules, BASE + 0x1000, 4);
	kernel_modules_send_list(c->modules, LIST, 5);
	kernel_modules_observe(c->modules, BASE + 0xfff, 6);
	kernel_modules_observe(c->modules, BASE + 0x3000, 6);
	kernel_modules_observe(c->modules, BASE + 0x6000, 6);
	kernel_modules_observe(c->modules, UINT64_MAX, 6);
	assert_string_equal(c->sections, "");
	kernel_modules_observe(c->modules, BASE + 0x2fff, 7);
	/* Folders are unordered. */
	first = strstr(c->sections, "0 .text 40 7\n");
	assert_non_null(first);
	assert_non_null(strstr(c->sections, "0 .exit.text 800 7\n"));
	assert_int_equal(strlen(c->sections),
			 strlen("0 .text 40 7\n") + strlen("0 .exit.text 800 7\n"));
	kernel_modules_observe(c->modules, BASE + 0x1000, 8);
	assert_null(strstr(c->sections, " 8\n"));
}

static void observe(struct collected *c, struct rec *rec, bool is_expected)
{
	c->sections[0] = '\0';
	kernel_modules_free(c->modules);
	new_modules(c);
	kernel_modules_send_list(c->modules, "a_1 4096 0 - Live 0xffffffffc0001000\n", 1);
	kernel_modules_observe_record(c->modules, rec, 9);
	assert_int_equal(c->sections[0] != '\0', is_expected);
}

CASE(all_addresses_of_the_kernel_count)
{
	struct collected *c = *state;
	struct rec_sample sample = {.leaf = BASE + 0x1010};
	uint64_t addrs[3] = {0, 0, BASE + 0x1010};
	const uint8_t kinds[3] = {FRAME_KERNEL, FRAME_KERNEL, FRAME_NATIVE};
	struct rec_stack *stack = stack_record_new(addrs, kinds, 2, 1);
	union {
		struct rec_copy copy;
		uint64_t words[sizeof(struct rec_copy) / 8 + 2];
	} copy = {.copy = {.kernel_depth = 1, .stack_size = 8}};

	record_init(&sample.rec, REC_SAMPLE, sizeof(sample), 1, 2, 3);
	observe(c, &sample.rec, false);
	sample.rec.flags = SAMPLE_LEAF_KERNEL;
	observe(c, &sample.rec, true);
	observe(c, &stack->rec, false);
	free(stack);
	addrs[1] = BASE + 0x1010;
	stack = stack_record_new(addrs, kinds, 2, 1);
	observe(c, &stack->rec, true);
	free(stack);
	record_init(&copy.copy.rec, REC_COPY, sizeof(struct rec_copy) + 16, 1, 2, 3);
	copy.copy.body[1] = BASE + 0x1010;
	observe(c, &copy.copy.rec, false);
	copy.copy.body[0] = BASE + 0x1010;
	observe(c, &copy.copy.rec, true);
}

CASE(functions_are_named_while_they_are_there)
{
	struct collected *c = *state;

	kernel_modules_send_list(c->modules, LIST, 5);
	c->answer = "a_func+0x10/0x100 [a_1]";
	kernel_modules_observe(c->modules, BASE + 0x1110, 7);
	assert_string_equal(c->symbols, "0 a_func 100 100 7\n");
	/* The rest of the function is known, too. */
	kernel_modules_observe(c->modules, BASE + 0x1100, 8);
	kernel_modules_observe(c->modules, BASE + 0x11ff, 8);
	assert_int_equal(c->asked, 1);
	c->answer = "before+0x0/0x10 [a_1]";
	kernel_modules_observe(c->modules, BASE + 0x1000, 8);
	c->answer = "between+0x1/0x10 [a_1]";
	kernel_modules_observe(c->modules, BASE + 0x1051, 9);
	assert_string_equal(c->symbols, "0 a_func 100 100 7\n0 before 0 10 8\n"
					"0 between 50 10 9\n");
	kernel_modules_observe(c->modules, BASE + 0x100f, 9);
	kernel_modules_observe(c->modules, BASE + 0x105f, 9);
	kernel_modules_observe(c->modules, BASE + 0x11ff, 9);
	assert_int_equal(c->asked, 3);
}

CASE(what_the_kernel_says_of_others_is_not_taken)
{
	static const char *const texts[] = {
		"image+0x10/0x100",   "other+0x10/0x100 [a_11]",      "other+0x10/0x100 [a_]",
		"0xffffffffc0001110", "in_front+0x1110/0x2000 [a_1]",
	};
	struct collected *c = *state;

	kernel_modules_send_list(c->modules, LIST, 5);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		c->answer = texts[i];
		kernel_modules_observe(c->modules, BASE + 0x1100 + i, 7);
		/* A second time, the kernel is not asked. */
		kernel_modules_observe(c->modules, BASE + 0x1100 + i, 7);
		assert_int_equal(c->asked, i + 1);
	}
	c->answer = NULL;
	kernel_modules_observe(c->modules, BASE + 0x1200, 7);
	assert_string_equal(c->symbols, "");
}

static void load(struct collected *c, const char *name, uint64_t start, uint64_t init,
		 uint64_t time)
{
	struct rec_loaded rec = {.start = start, .size = 0x1800, .init_start = init};

	record_init(&rec.rec, REC_LOADED, sizeof(rec), time, 0, 0);
	rec.init_size = init ? 0x800 : 0;
	memcpy(rec.name, name, strnlen(name, sizeof(rec.name)));
	kernel_modules_send_new(c->modules, &rec);
}

CASE(modules_that_come_later)
{
	struct collected *c = *state;

	kernel_modules_send_list(c->modules, LIST, 5);
	vec_clear(&c->maps);
	c->sections[0] = '\0';
	/* Already in the list: nothing new. */
	load(c, "a_1", BASE + 0x1000, 0, 4);
	assert_int_equal(c->maps.count, 0);
	/* Code, and initial code that is dropped after the start and lies behind it in the file. */
	load(c, "a_1", BASE + 0x1000, BASE + 0x20000, 8);
	assert_int_equal(c->module_count, 4);
	assert_int_equal(c->maps.count, 2);
	check_map(c, 0, "[a_1]", BASE + 0x1000, BASE + 0x2800);
	assert_int_equal(c->maps.items[1].start, BASE + 0x20000);
	assert_int_equal(c->maps.items[1].end, BASE + 0x20800);
	assert_int_equal(c->maps.items[1].file_offset, 0x2000);
	assert_int_equal(c->maps.items[1].module_id, 3);
	assert_non_null(strstr(c->sections, "3 .text 40 8\n"));
	c->answer = "early+0x4/0x8 [a_1]";
	kernel_modules_observe(c->modules, BASE + 0x20014, 9);
	assert_string_equal(c->symbols, "3 early 2010 8 9\n");
	/* A module in place of another, and of the initial code that it dropped. */
	load(c, "z", BASE + 0x1800, 0, 10);
	load(c, "y", BASE + 0x1f000, 0, 11);
	c->symbols[0] = '\0';
	c->answer = "func+0x0/0x8 [y]";
	kernel_modules_observe(c->modules, BASE + 0x20010, 12);
	c->answer = "func+0x0/0x8 [z]";
	kernel_modules_observe(c->modules, BASE + 0x1810, 12);
	c->answer = "func+0x0/0x8 [a_1]";
	kernel_modules_observe(c->modules, BASE + 0x17f0, 12);
	assert_string_equal(c->symbols, "5 func 1010 8 12\n4 func 10 8 12\n3 func 7f0 8 12\n");
}

CASE(what_cannot_be_a_module)
{
	struct collected *c = *state;
	char endless[REC_LOADED_NAME_SIZE];

	memset(endless, 'x', sizeof(endless));
	load(c, "", BASE, 0, 1);
	load(c, "../x", BASE, 0, 1);
	load(c, endless, BASE, 0, 1);
	load(c, "over", UINT64_MAX - 10, 0, 1);
	assert_int_equal(c->maps.count, 0);
	kernel_modules_observe(c->modules, UINT64_MAX, 2);
	kernel_modules_observe(c->modules, 0, 2);
}

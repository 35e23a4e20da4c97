/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "symbolize/kernel/kernel_table.h"
#include "symbolize/symbolizer.h"
#include "tests/unit/test.h"

static int parse(const char *text, struct kernel_table **k)
{
	_cleanup_close_ int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return kallsyms_read(k, fd, NULL);
}

static void check(const struct kernel_table *k, uint64_t addr, const char *name, uint64_t start,
		  uint64_t size)
{
	struct kernel_symbol symbol;

	if (!name) {
		assert_false(kernel_table_find(k, addr, &symbol));
		return;
	}
	assert_true(kernel_table_find(k, addr, &symbol));
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.start, start);
	assert_int_equal(symbol.size, size);
}

static const char *const some_symbols = "ffffffff81000000 T _text\n"
					"ffffffff81000000 T startup_64\n"
					"ffffffff81000100 t helper\n"
					"ffffffff81000180 D some_data\n"
					"ffffffff81000200 W weak_one\n"
					"ffffffffc0001000 t in_module\t[ext4]\n"
					"ffffffffc0000000 t bpf_prog_1234_foo\t[bpf]\n"
					"ffffffffc0001080 t last\t[ext4]\n";

TEST(symbols_reach_to_the_next)
{
	struct kernel_table *k;

	assert_int_equal(parse(some_symbols, &k), 0);
	check(k, 0xffffffff80ffffff, NULL, 0, 0);
	check(k, 0xffffffff81000000, "startup_64", 0xffffffff81000000, 0x100);
	check(k, 0xffffffff810000ff, "startup_64", 0xffffffff81000000, 0x100);
	check(k, 0xffffffff81000100, "helper", 0xffffffff81000100, 0x80);
	check(k, 0xffffffffc0000fff, "bpf_prog_1234_foo", 0xffffffffc0000000, 0x1000);
	check(k, 0xffffffffc0001000, "in_module", 0xffffffffc0001000, 0x80);
	kernel_table_free(k);
}

TEST(data_and_far_gaps_have_no_name)
{
	struct kernel_table *k;

	assert_int_equal(parse(some_symbols, &k), 0);
	check(k, 0xffffffff81000180, NULL, 0, 0);
	check(k, 0xffffffff81000200, "weak_one", 0xffffffff81000200, 0);
	check(k, 0xffffffff90000000, NULL, 0, 0);
	check(k, 0xffffffffc0001080, "last", 0xffffffffc0001080, 0);
	check(k, UINT64_MAX, NULL, 0, 0);
	kernel_table_free(k);
}

TEST(of_aliases_the_best_known_is_taken)
{
	struct kernel_table *k;

	assert_int_equal(parse("1000 T __ia32_sys_fork\n"
			       "1000 t __do_sys_fork\n"
			       "1000 T __x64_sys_fork\n"
			       "2000 T __sched_text_start\n"
			       "2000 t schedule_local\n"
			       "3000 T __memcpy\n"
			       "3000 T memcpy\n"
			       "4000 D data\n"
			       "4000 t code\n"
			       "5000 T __pfx_next\n"
			       "5010 T next\n",
			       &k),
			 0);
	check(k, 0x1000, "__do_sys_fork", 0x1000, 0x1000);
	check(k, 0x2000, "schedule_local", 0x2000, 0x1000);
	check(k, 0x3000, "memcpy", 0x3000, 0x1000);
	check(k, 0x4000, "code", 0x4000, 0x1000);
	check(k, 0x5010, "next", 0x5010, 0);
	kernel_table_free(k);
}

TEST(any_order_will_do)
{
	struct kernel_table *k;

	assert_int_equal(parse("2000 T b\n3000 T c\n4000 T d\n1000 T a\n2800 T bb\n5000 T e\n", &k),
			 0);
	check(k, 0x1000, "a", 0x1000, 0x1000);
	check(k, 0x2000, "b", 0x2000, 0x800);
	check(k, 0x2800, "bb", 0x2800, 0x800);
	check(k, 0x3000, "c", 0x3000, 0x1000);
	check(k, 0x4000, "d", 0x4000, 0x1000);
	check(k, 0x5000, "e", 0x5000, 0);
	kernel_table_free(k);
}

TEST(hidden_addresses)
{
	struct kernel_table *k;

	assert_int_equal(parse("0000000000000000 T _text\n0000000000000000 t foo\n", &k), -ENOENT);
	assert_int_equal(parse("", &k), -ENOENT);
}

TEST(damaged_lines_are_passed_over)
{
	struct kernel_table *k;

	assert_int_equal(parse("\n"
			       " T x\n"
			       "zz T x\n"
			       "1000\n"
			       "1000 T\n"
			       "1000 T \n"
			       "1000 T \t[mod]\n"
			       "fffffffffffffffff T too_long\n"
			       "2000 T good\n"
			       "3000 T cut_of",
			       &k),
			 0);
	check(k, 0x1000, NULL, 0, 0);
	check(k, 0x2000, "good", 0x2000, 0);
	check(k, 0x3000, "good", 0x2000, 0);
	kernel_table_free(k);
}

TEST(symbolizer_counts_from_the_module)
{
	struct module module = {.kind = PROFILE_MODULE_KERNEL_MODULE, .base = 0xffffffffc0001000};
	struct symbolizer_input input = {.module = &module, .path = "[ext4]", .fd = -1};
	const uint64_t rvas[] = {0x10, 0x80};
	struct answer answers[2] = {0};
	struct symbolizer *s;
	struct kernel_table *k;

	assert_int_equal(parse(some_symbols, &k), 0);
	assert_int_equal(symbolizer_kernel.open(&s, &input, NULL), -ENOENT);
	input.kernel_symbols = k;
	assert_int_equal(symbolizer_kernel.open(&s, &input, NULL), 0);
	s->ops->lookup(s, rvas, 2, answers);
	assert_string_equal(answers[0].func, "in_module");
	assert_int_equal(answers[0].func_start, 0);
	assert_int_equal(answers[0].func_size, 0x80);
	assert_string_equal(answers[1].func, "last");
	assert_int_equal(answers[1].func_start, 0x80);
	s->ops->free(s);
	/* Symbols before the module belong to others. */
	module.base = 0xffffffffc0000800;
	assert_int_equal(symbolizer_kernel.open(&s, &input, NULL), 0);
	memset(answers, 0, sizeof(answers));
	s->ops->lookup(s, rvas, 1, answers);
	assert_null(answers[0].func);
	s->ops->free(s);
	kernel_table_free(k);
}

static const char *name_at(const struct symbolizer_input *input, uint64_t rva)
{
	static char name[64];
	struct answer answer = {0};
	struct symbolizer *s;

	assert_int_equal(symbolizer_kernel.open(&s, input, NULL), 0);
	s->ops->lookup(s, &rva, 1, &answer);
	snprintf(name, sizeof(name), "%s", answer.func ? answer.func : "");
	s->ops->free(s);
	return name;
}

/* A module may be gone at the end, with another in its place. */
TEST(modules_keep_the_names_they_had)
{
	struct module module = {.kind = PROFILE_MODULE_KERNEL_MODULE, .base = 0xffffffffc0001000};
	struct symbolizer_input input = {.module = &module, .path = "[ext4]", .fd = -1};
	struct kernel_table *k;

	module_add_symbol(&module, 0x20, 0x10, "gone_by_now", strlen("gone_by"));
	assert_string_equal(name_at(&input, 0x24), "gone_by");
	assert_string_equal(name_at(&input, 0x10), "");
	assert_int_equal(parse(some_symbols, &k), 0);
	input.kernel_symbols = k;
	assert_string_equal(name_at(&input, 0x24), "gone_by");
	assert_string_equal(name_at(&input, 0x10), "in_module");
	input.path = "[ext]";
	assert_string_equal(name_at(&input, 0x24), "gone_by");
	assert_string_equal(name_at(&input, 0x10), "");
	kernel_table_free(k);
	free(module.symbols.items[0].name);
	vec_release(&module.symbols);
}

/* Without its build id, a module is known by its place alone. */
TEST(a_module_that_moved_has_no_names)
{
	struct module module = {
		.kind = PROFILE_MODULE_KERNEL_MODULE,
		.base = 0xffffffffc0001000,
		.reason = SYMBOLS_NO_BUILD_ID,
	};
	struct symbolizer_input input = {.module = &module, .path = "[ext4]", .fd = -1};
	struct symbolizer *s;
	struct kernel_table *k;

	assert_int_equal(parse(some_symbols, &k), 0);
	input.kernel_symbols = k;
	assert_string_equal(name_at(&input, 0x10), "in_module");
	module.base = 0xffffffffc0000000;
	assert_int_equal(symbolizer_kernel.open(&s, &input, NULL), -ENOENT);
	module.base = 0xffffffffc0002000;
	assert_int_equal(symbolizer_kernel.open(&s, &input, NULL), -ENOENT);
	/* Answers about the recorded addresses are of that time. */
	k->is_list = false;
	module.base = 0xffffffffc0000000;
	assert_string_equal(name_at(&input, 0x1010), "in_module");
	/* Own symbols need no list. */
	k->is_list = true;
	module.base = 0;
	module_add_symbol(&module, 0x20, 0x10, "own", strlen("own"));
	assert_string_equal(name_at(&input, 0x24), "own");
	assert_string_equal(name_at(&input, 0x10), "");
	kernel_table_free(k);
	free(module.symbols.items[0].name);
	vec_release(&module.symbols);
}

/* A list names the kernel itself alone at an address that no recorded module has. */
TEST(modules_and_code_of_now_name_nothing)
{
	const struct module image = {.kind = PROFILE_MODULE_KERNEL, .base = 0xffffffff81000000};
	struct symbolizer_input input = {.path = "", .fd = -1};
	struct kernel_table *k;

	assert_int_equal(parse("ffffffff81000100 t helper\n"
			       "ffffffff81000200 t in_reach\t[near]\n"
			       "ffffffffc0000000 t bpf_prog_1234_foo\t[bpf]\n"
			       "ffffffffc0000100 t ftrace_trampoline\t[__builtin__ftrace]\n"
			       "ffffffffc0000200 t kprobe_insn_page\t[__builtin__kprobes]\n"
			       "ffffffffc0000300 t ext4_read\t[ext4]\n"
			       "fffffffff0000000 t elsewhere\n",
			       &k),
			 0);
	input.kernel_symbols = k;
	for (uint64_t addr = 0xffffffffc0000010; addr < 0xffffffffc0000400; addr += 0x100)
		assert_string_equal(name_at(&input, addr), "");
	assert_string_equal(name_at(&input, 0xfffffffff0000010), "elsewhere");
	k->is_list = false;
	assert_string_equal(name_at(&input, 0xffffffffc0000010), "bpf_prog_1234_foo");
	k->is_list = true;
	input.module = &image;
	assert_string_equal(name_at(&input, 0x110), "helper");
	assert_string_equal(name_at(&input, 0x210), "");
	kernel_table_free(k);
}

static void check_own(const struct symbolizer_input *input, const char *name, uint64_t size)
{
	const uint64_t rva = 0x10;
	struct answer answer = {0};
	struct symbolizer *s;

	assert_int_equal(symbolizer_kernel.open(&s, input, NULL), 0);
	s->ops->lookup(s, &rva, 1, &answer);
	assert_string_equal(answer.func, name);
	assert_int_equal(answer.func_start, 0);
	assert_int_equal(answer.func_size, size);
	s->ops->free(s);
}

TEST(code_of_the_kernel_keeps_the_name_it_had)
{
	static const char name[] = "bpf_prog_0123456789abcdef_short_name";
	const struct module module = {.kind = PROFILE_MODULE_KERNEL_DYNAMIC,
				      .base = 0xffffffffc0000000};
	struct symbolizer_input input = {.module = &module, .path = name, .fd = -1};
	struct kernel_table *k;

	/* Gone, and hidden. */
	check_own(&input, name, 0);
	/* Its place was used again. */
	assert_int_equal(parse("ffffffffc0000000 t bpf_prog_1111111111111111_other\t[bpf]\n"
			       "ffffffffc0000100 t next\t[bpf]\n",
			       &k),
			 0);
	input.kernel_symbols = k;
	check_own(&input, name, 0);
	kernel_table_free(k);
	/* Still loaded, under its whole name. */
	assert_int_equal(parse("ffffffffc0000000 t bpf_prog_0123456789abcdef_short_name_and_more\n"
			       "ffffffffc0000100 t next\t[bpf]\n",
			       &k),
			 0);
	input.kernel_symbols = k;
	check_own(&input, "bpf_prog_0123456789abcdef_short_name_and_more", 0x100);
	kernel_table_free(k);
}

TEST(reads_a_file_from_its_start)
{
	_cleanup_close_ int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct kernel_table *k;

	assert_int_equal(write(fd, some_symbols, strlen(some_symbols)), strlen(some_symbols));
	assert_int_equal(kallsyms_read(&k, fd, NULL), 0);
	check(k, 0xffffffff81000100, "helper", 0xffffffff81000100, 0x80);
	kernel_table_free(k);
	assert_int_equal(kallsyms_read(&k, -1, NULL), -EBADF);
}

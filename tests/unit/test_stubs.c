/* SPDX-License-Identifier: MIT */
/* Stubs of real linkers, which tests/fuzz/make-seeds runs. */

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/stubs.h"
#include "lib/code/unwind/eh_frame.h"
#include "tests/unit/own_program.h"
#include "tests/unit/test.h"

#define CORPUS "tests/fuzz/corpus/stubs/"

struct expected {
	uint64_t vaddr, size;
	const char *name; /* NULL: the function is chosen at run time */
};

static void check(const char *path, const struct expected *expected, size_t count)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct binary_stubs stubs = {0};
	struct binary *b;

	assert_int_equal(binary_open(&b, fd, NULL), 0);
	binary_find_stubs(b, &stubs);
	assert_int_equal(stubs.rows.count, count);
	for (size_t i = 0; i < count; i++) {
		struct binary_stub *stub = &stubs.rows.items[i];

		assert_int_equal(stub->vaddr, expected[i].vaddr);
		assert_int_equal(stub->size, expected[i].size);
		/* Most names are never needed. */
		assert_null(stub->name);
		assert_true(binary_name_stub(b, stub));
		if (expected[i].name) {
			assert_non_null(stub->name);
			assert_string_equal(stub->name, expected[i].name);
		} else {
			assert_null(stub->name);
			assert_true(stub->target);
		}
	}
	vec_release(&stubs.rows);
	binary_free(b);
}

#define CHECK(name, ...) \
	do { \
		const struct expected all[] = {__VA_ARGS__}; \
\
		check(CORPUS name, all, sizeof(all) / sizeof(all[0])); \
	} while (0)

TEST(of_x86_64)
{
	CHECK("lazy", {0x390, 16, "_ZN5third6methodEi"}, {0x3a0, 16, NULL}, {0x3b0, 16, "first"},
	      {0x3c0, 8, "second"});
	CHECK("now", {0x390, 16, "_ZN5third6methodEi"}, {0x3a0, 16, NULL}, {0x3b0, 16, "first"},
	      {0x3c0, 8, "second"});
	CHECK("lld", {0x460, 16, "second"}, {0x470, 16, "first"}, {0x480, 16, "_ZN5third6methodEi"},
	      {0x490, 16, NULL});
	CHECK("static", {0x400140, 8, NULL});
}

/* .plt, which only has numbers, .plt.got and .plt.sec */
TEST(of_x86_64_with_landing_pads)
{
	CHECK("lazy-ibt", {0x3d0, 16, "_ZN5third6methodEi"}, {0x3e0, 16, NULL},
	      {0x3f0, 16, "first"}, {0x400, 16, "second"}, {0x410, 16, "_ZN5third6methodEi"},
	      {0x420, 16, NULL}, {0x430, 16, "first"});
}

TEST(of_arm64)
{
	CHECK("arm64", {0x470, 16, "second"}, {0x480, 16, "first"},
	      {0x490, 16, "_ZN5third6methodEi"}, {0x4a0, 16, NULL});
	CHECK("arm64-bti", {0x510, 24, "second"}, {0x528, 24, "first"},
	      {0x540, 24, "_ZN5third6methodEi"}, {0x560, 24, NULL});
}

TEST(files_without_stubs)
{
	check("tests/fuzz/corpus/elf_symbols/symbols", NULL, 0);
}

TEST(answers_say_where_stubs_lead)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = open(CORPUS "lazy", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fixed = open(CORPUS "static", O_RDONLY | O_CLOEXEC);
	struct symbolizer_input input = {.module = &module, .fd = fd};
	struct symbolizer *s;
	struct answer answer = ask_one(&symbolizer_elf, &input, 0x39f, &s);

	assert_string_equal(answer.func, "_ZN5third6methodEi@plt");
	assert_int_equal(answer.func_start, 0x390);
	assert_int_equal(answer.func_size, 16);
	assert_false(answer.is_synthetic);
	s->ops->free(s);
	/* The only name for a function chosen at run time is the place of its chooser. */
	answer = ask_one(&symbolizer_elf, &input, 0x3a0, &s);
	assert_memory_equal(answer.func, "fun_", 4);
	assert_true(strstr(answer.func, "@plt"));
	assert_true(answer.is_synthetic);
	s->ops->free(s);
	answer = ask_one(&symbolizer_elf, &input, 0x380, &s);
	assert_null(answer.func);
	s->ops->free(s);
	input.fd = fixed;
	answer = ask_one(&symbolizer_elf, &input, 0x140, &s);
	assert_string_equal(answer.func, "picked@plt");
	assert_int_equal(answer.func_start, 0x140);
	assert_false(answer.is_synthetic);
	s->ops->free(s);
}

static size_t count_jumps(uint16_t machine, const void *bytes, size_t size)
{
	struct stub_reader code = {.machine = machine, .bytes = bytes, .size = size};
	struct stub_jump jump;
	size_t count = 0;

	while (stub_code_next(&code, &jump)) {
		assert_true(jump.size && jump.at + jump.size <= size);
		count++;
	}
	return count;
}

TEST(code_that_is_cut_off)
{
	static const char jump[] = "\xf3\x0f\x1e\xfa\xf2\xff\x25\x10\x00\x00\x00";
	static const char push[] = "\x68\x01\x00\x00\x00\xe9\x00\x00\x00\x00";
	static const uint32_t load[] = {0xd503245f, 0x90000010, 0xf9400211, 0x91000210, 0xd61f0220};

	for (size_t size = 0; size <= sizeof(jump) - 1; size++)
		assert_int_equal(count_jumps(EM_X86_64, jump, size), size == sizeof(jump) - 1);
	for (size_t size = 0; size <= sizeof(push) - 1; size++)
		assert_int_equal(count_jumps(EM_X86_64, push, size), size >= 6);
	for (size_t size = 0; size <= sizeof(load); size++)
		assert_int_equal(count_jumps(EM_AARCH64, load, size), size == sizeof(load));
	assert_int_equal(count_jumps(EM_386, jump, sizeof(jump) - 1), 0);
}

/* Returns an address after a function, in none, and not just before the next one. */
static uint64_t in_a_gap(int fd)
{
	uint64_t rva = own_rva(own_mark_inner);
	struct fde_ranges *r;
	struct fde_range range;

	assert_int_equal(fde_ranges_new(&r, fd, NULL), 0);
	while (fde_ranges_find(r, rva, &range) || fde_ranges_find(r, rva + 1, &range))
		rva = range.rva + range.size;
	fde_ranges_find(r, rva, &range);
	assert_true(range.rva && range.rva < rva && !range.size);
	fde_ranges_free(r);
	return rva;
}

TEST(functions_without_a_name)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = own_fd();
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	uint64_t start = own_rva((const void *)(uintptr_t)own_outer);
	uint64_t rva = own_rva(own_mark_inner);
	struct answer guessed = {
		.func = "label", .func_start = start - 8, .is_reach_guessed = true};
	struct answer known = {.func = "label", .func_start = start - 8};
	struct answer answer;
	struct symbolizer *s;
	char name[32];

	snprintf(name, sizeof(name), "fun_%lx", start);
	answer = ask_one(&symbolizer_fde, &input, rva, &s);
	assert_string_equal(answer.func, name);
	assert_int_equal(answer.func_start, start);
	assert_true(rva - start < answer.func_size && answer.func_size < 4096);
	assert_true(answer.is_synthetic);
	/* A symbol reaches that far only because there is no other one. */
	s->ops->lookup(s, &rva, 1, &guessed);
	assert_string_equal(guessed.func, name);
	guessed = (struct answer){.func = "own", .func_start = start, .is_reach_guessed = true};
	s->ops->lookup(s, &rva, 1, &guessed);
	assert_string_equal(guessed.func, "own");
	assert_int_equal(guessed.func_size, answer.func_size);
	s->ops->lookup(s, &rva, 1, &known);
	assert_string_equal(known.func, "label");
	rva = in_a_gap(fd);
	guessed = (struct answer){.func = "label", .func_start = 1, .is_reach_guessed = true};
	s->ops->lookup(s, &rva, 1, &guessed);
	assert_null(guessed.func);
	guessed = (struct answer){.func = "label", .func_start = rva, .is_reach_guessed = true};
	s->ops->lookup(s, &rva, 1, &guessed);
	assert_string_equal(guessed.func, "label");
	rva = 0;
	answer = (struct answer){0};
	s->ops->lookup(s, &rva, 1, &answer);
	assert_null(answer.func);
	s->ops->free(s);
}

TEST(the_entry_has_the_name_that_linkers_expect)
{
	const struct module module = {.kind = PROFILE_MODULE_FILE};
	_cleanup_close_ int fd = own_fd();
	const struct symbolizer_input input = {.module = &module, .fd = fd};
	uint64_t start = own_rva((const void *)getauxval(AT_ENTRY));
	struct symbolizer *s;
	struct answer answer = ask_one(&symbolizer_fde, &input, start + 1, &s);

	assert_string_equal(answer.func, "_start");
	assert_int_equal(answer.func_start, start);
	assert_false(answer.is_synthetic);
	s->ops->free(s);
}

TEST(ranges_by_any_kind_of_table)
{
	static const char *const files[] = {"frames", "walked", "debug-frame", "sectionless"};
	struct fde_range first = {0}, range;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[100];
		struct fde_ranges *r;
		size_t found = 0;

		snprintf(path, sizeof(path), "tests/fuzz/corpus/fde_ranges/%s", files[i]);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

		assert_int_equal(fde_ranges_new(&r, fd, NULL), 0);
		for (uint64_t rva = 0; rva < 0x3000; rva++) {
			if (!fde_ranges_find(r, rva, &range))
				continue;
			assert_true(rva - range.rva < range.size);
			if (!found++ && !first.size)
				first = range;
			if (found == 1)
				assert_int_equal(range.size, first.size);
		}
		assert_true(found > first.size);
		assert_false(fde_ranges_find(r, UINT64_MAX, &range));
		fde_ranges_free(r);
	}
}

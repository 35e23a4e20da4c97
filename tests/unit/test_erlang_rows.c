/* SPDX-License-Identifier: MIT */
/* Rows of Erlang's code: how it leaves the process's stack for calls of C. */
#include "lib/code/unwind/erlang_x86_64.h"

#include <string.h>

#include "bpf/unwind.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

#define VADDR 0x7f0000000000ull

/* Three calls of C as OTP 25 makes them, and one as with AVX. */
static const char code[] =
	"\x48\x89\xe5\x48\x8d\x63\x80\xff\xd0\x48\x89\xec" /* 0: mov %rsp,%rbp; lea */
	"\x41\x0f\x11\x45\x50\x4d\x89\x75\x68\x48\x8d\x63\x80" /* 12: movups, reductions; lea */
	"\xff\xd0\x49\x8b\x65\x58\xc3" /* 25: mov 88(%r13),%rsp */
	"\x48\x89\xe5\x45\x89\x75\x68\x48\x8d\x63\x80\xff\xd0" /* 32: reductions after rbp */
	"\xc4\xc1\x7a\x7f\x45\x50\x48\x8d\x63\x80\xff\xd0" /* 45: vmovdqu; lea */
	"\x90\x90\x90\x90\x48\x8d\x63\x80\xc3"; /* 57: another lea */

static void expect_row(const struct stubs *stubs, size_t i, size_t at, int offset, int stop_at)
{
	const struct stub_row *row = &stubs->rows.items[i];

	assert_int_equal(row->vaddr, VADDR + at);
	assert_int_equal(row->rule.cfa_kind, UNWIND_CFA_ERLANG);
	assert_int_equal(row->rule.cfa_offset, offset);
	assert_int_equal(row->rule.cfa_deref, stop_at);
}

TEST(each_call_of_c_has_a_row)
{
	const struct stub_code all = {
		.code = (const uint8_t *)code, .size = sizeof(code) - 1, .vaddr = VADDR};
	struct stubs stubs = {0};

	erlang_x86_64(&stubs, &all);
	assert_int_equal(stubs.rows.count, 5);
	expect_row(&stubs, 0, 0, 0, 0);
	expect_row(&stubs, 1, 3, -128, 0);
	expect_row(&stubs, 2, 21, -128, 11);
	expect_row(&stubs, 3, 39, -128, 0);
	expect_row(&stubs, 4, 51, -128, 11);
	stubs_release(&stubs);
}

/* Variables that are not set yet are passed over, up to the last instruction that may set one. */
TEST(frames_that_are_not_set_yet)
{
	static const char frames[] =
		"\x48\x83\xec\x10\x48\x89\x3c\x24\x48\x83\xc4\x10\xc3\x90\x90\x90" /* 0: sub, add */
		"\x48\x83\xec\x08" /* 16: sub */
		"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
		"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
		"\x48\x83\xec\x09\x48\x83\xec\xf8\x90"; /* 48: no frames */
	const struct stub_code all = {
		.code = (const uint8_t *)frames, .size = sizeof(frames) - 1, .vaddr = VADDR};
	static const struct {
		size_t at;
		int words;
	} expected[] = {{0, 0}, {4, 2}, {8, 0}, {20, 1}, {44, 0}};
	struct stubs stubs = {0};

	erlang_x86_64(&stubs, &all);
	assert_int_equal(stubs.rows.count, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < stubs.rows.count; i++) {
		assert_int_equal(stubs.rows.items[i].vaddr, VADDR + expected[i].at);
		assert_int_equal(stubs.rows.items[i].rule.ra_offset, expected[i].words);
	}
	stubs_release(&stubs);
}

TEST(code_cut_anywhere)
{
	for (size_t size = 1; size < sizeof(code); size++) {
		_cleanup_free_ uint8_t *copy = xmalloc(size);
		const struct stub_code all = {.code = copy, .size = size, .vaddr = VADDR};
		struct stubs stubs = {0};

		memcpy(copy, code, size);
		erlang_x86_64(&stubs, &all);
		assert_in_range(stubs.rows.count, 1, 5);
		stubs_release(&stubs);
	}
}

/* SPDX-License-Identifier: MIT */
/* Beginnings of allocators' functions, and where they are probed. */
#include "lib/live/instruments/allocs/emulated_entry.h"

#include <string.h>

#include "tests/unit/test.h"

static size_t find(const char *bytes, size_t size)
{
	uint8_t code[EMULATED_ENTRY_BYTES] = {0};

	assert_true(size <= sizeof(code));
	memcpy(code, bytes, size);
	return emulated_entry_find(code, sizeof(code));
}
#define FIND(bytes) find(bytes, sizeof(bytes) - 1)

TEST(what_sets_flags_is_passed)
{
	/* push %r12 */
	assert_int_equal(FIND("\x41\x54\x55\x53"), 0);
	/* endbr64; push %rbp */
	assert_int_equal(FIND("\xf3\x0f\x1e\xfa\x55"), 4);
	/* test %rdi,%rdi; je, near and short */
	assert_int_equal(FIND("\x48\x85\xff\x0f\x84\xbf\x00\x00\x00"), 3);
	assert_int_equal(FIND("\x48\x85\xff\x74\x05"), 3);
	/* endbr64; test %rdi,%rdi; je */
	assert_int_equal(FIND("\xf3\x0f\x1e\xfa\x48\x85\xff\x74\x05"), 7);
	/* cmpb $0x0,0x140e71(%rip); push %r12 */
	assert_int_equal(FIND("\x80\x3d\x71\x0e\x14\x00\x00\x41\x54"), 7);
	/* cmp $0x400,%rdi; ja */
	assert_int_equal(FIND("\x48\x81\xff\x00\x04\x00\x00\x77\x10"), 7);
	/* cmp %rsi,%rdi; jmp */
	assert_int_equal(FIND("\x48\x39\xf7\xe9\x00\x00\x00\x00"), 3);
}

TEST(what_changes_registers_is_not)
{
	/* mov %rsi,%rax; jo */
	assert_int_equal(FIND("\x48\x89\xf0\x70\x05"), 0);
	/* sub $0x18,%rsp; jmp */
	assert_int_equal(FIND("\x48\x83\xec\x18\xeb\x05"), 0);
	/* add $0x1,%rdi; push %rbp */
	assert_int_equal(FIND("\x48\x83\xc7\x01\x55"), 0);
	/* cmp %rax,(%rdi), which may fault; push %rbp */
	assert_int_equal(FIND("\x48\x39\x07\x55"), 0);
	/* test %rdi,%rdi; mov %rdi,%rax */
	assert_int_equal(FIND("\x48\x85\xff\x48\x89\xf8"), 0);
	/* push of other registers has another encoding: pop %r8 */
	assert_int_equal(FIND("\x41\x58"), 0);
	assert_int_equal(emulated_entry_find((const uint8_t *)"\x55", 1), 0);
}

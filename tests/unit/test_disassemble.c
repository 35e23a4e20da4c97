/* SPDX-License-Identifier: MIT */
/* Instructions that other disassemblers of distributions do not know are among these. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/disassemble.h"
#include "tests/unit/test.h"

#define ADDRESS 0x1000

struct expected {
	uint32_t size;
	const char *text;
	uint64_t target;
};

static void check(uint16_t machine, const uint8_t *code, size_t size,
		  const struct expected *expected, size_t count)
{
	struct disassembly d;
	struct error err = {0};
	uint32_t at = 0;

	if (disassemble(&d, machine, code, size, ADDRESS, &err))
		fail_msg("%s", err.text);
	assert_int_equal(d.rows.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(d.rows.items[i].text, expected[i].text);
		assert_int_equal(d.rows.items[i].offset, at);
		assert_int_equal(d.rows.items[i].size, expected[i].size);
		assert_true(d.rows.items[i].target == expected[i].target);
		at += expected[i].size;
	}
	assert_int_equal(at, size);
	disassembly_release(&d);
}

#define CHECK(machine, code, expected) \
	check(machine, code, sizeof(code), expected, sizeof(expected) / sizeof((expected)[0]))

TEST(test_x86_64)
{
	static const uint8_t code[] = {
		0x62, 0xf2, 0x6d, 0x48, 0x50, 0xcb, /* VNNI */
		0x62, 0xf5, 0x6c, 0x48, 0x58, 0xcb, /* FP16 */
		0xc4, 0xe2, 0x63, 0x5e, 0xca, /* AMX */
		0x62, 0xf2, 0x7d, 0x48, 0x55, 0xca, /* VPOPCNTDQ */
		0xf3, 0x0f, 0xc7, 0xf8, /* no rdseed */
		0xf0, 0x0f, 0xc1, 0x1a, 0xf3, 0x0f, 0x1e, 0xfa, 0xb8, 0x34, 0x12, 0x00,
		0x00, 0x75, 0xfe, 0xe8, 0x0b, 0x00, 0x00, 0x00, 0xc3, 0x06, 0x48,
	};
	static const struct expected expected[] = {
		{6, "vpdpbusd zmm1, zmm2, zmm3", NO_TARGET},
		{6, "vaddph zmm1, zmm2, zmm3", NO_TARGET},
		{5, "tdpbssd tmm1, tmm2, tmm3", NO_TARGET},
		{6, "vpopcntd zmm1, zmm2", NO_TARGET},
		{4, "rdpid rax", NO_TARGET},
		{4, "lock xadd dword ptr [rdx], ebx", NO_TARGET},
		{4, "endbr64", NO_TARGET},
		{5, "mov eax, 0x1234", NO_TARGET},
		{2, "jne 0x1028", 0x1028},
		{5, "call 0x103a", 0x103a},
		{1, "ret", NO_TARGET},
		{1, ".byte 0x06", NO_TARGET},
		{1, ".byte 0x48", NO_TARGET},
	};

	CHECK(EM_X86_64, code, expected);
}

/* Addresses of data are told, names of functions where they are known. */
TEST(test_data)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x3d, 0x10, 0,    0,    0, /* lea */
		0x83, 0x3d, 0x10, 0,	0,    0,    0x7f, /* cmp, with a number behind */
		0xe8, 0,    0,	  0,	0,    0x90, 0x66, 0xc7, 0x05, 0x10,
		0,    0,    0,	  0x34, 0x12, /* 2 bytes of it */
		0xc7, 0x05, 0xf0, 0xff, 0xff, 0xff, 0x78, 0x56, 0x34, 0x12, /* 4, and backwards */
		0xff, 0x15, 0,	  0,	0,    0, /* a call through data */
	};
	static const char *const expected[] = {
		"lea rdi, [rip + 0x10] # 0x1017 <main+0x17>",
		"cmp dword ptr [rip + 0x10], 0x7f # 0x101e <main+0x1e>",
		"call 0x1013 <main+0x13>",
		"nop",
		"mov word ptr [rip + 0x10], 0x1234 # 0x102d <main+0x2d>",
		"mov dword ptr [rip - 0x10], 0x12345678 # 0x1017 <main+0x17>",
		"call qword ptr [rip] # 0x102d <main+0x2d>",
	};
	struct disassembly d;

	assert_int_equal(disassemble(&d, EM_X86_64, code, sizeof(code), ADDRESS, NULL), 0);
	assert_int_equal(d.rows.count, 7);
	for (size_t i = 0; i < 7; i++) {
		char *text = instruction_text(&d.rows.items[i], "main", ADDRESS, NULL);

		assert_string_equal(text, expected[i]);
		free(text);
	}
	for (size_t i = 0; i < 2; i++) {
		char *text = instruction_text(&d.rows.items[2 * i], NULL, 0, NULL);

		assert_string_equal(text, i ? "call 0x1013" : "lea rdi, [rip + 0x10] # 0x1017");
		free(text);
	}
	disassembly_release(&d);
}

TEST(test_arm64)
{
	static const uint8_t code[] = {
		0xff, 0x0b, 0x5f, 0xd6, /* pointer authentication */
		0x41, 0x00, 0xe0, 0xb8, /* LSE */
		0x20, 0x00, 0xa2, 0x04, /* SVE */
		0x20, 0xa4, 0x82, 0x4e, /* I8MM */
		0xc1, 0xff, 0xff, 0x54, 0x04, 0x00, 0x00, 0x94, 0x00, 0x00, 0x00, 0x00, 0xff,
	};
	static const struct expected expected[] = {
		{4, "retaa", NO_TARGET},
		{4, "ldaddal w0, w1, [x2]", NO_TARGET},
		{4, "add z0.s, z1.s, z2.s", NO_TARGET},
		{4, "smmla v0.4s, v1.16b, v2.16b", NO_TARGET},
		{4, "b.ne 0x1008", 0x1008},
		{4, "bl 0x1024", 0x1024},
		{4, "udf #0x0", NO_TARGET},
		{1, ".byte 0xff", NO_TARGET},
	};

	CHECK(EM_AARCH64, code, expected);
}

TEST(test_other_machines)
{
	struct disassembly d;
	struct error err = {0};

	assert_int_equal(disassemble(&d, EM_S390, (const uint8_t *)"", 0, 0, &err), -ENOTSUP);
	assert_int_equal(d.rows.count, 0);
	assert_int_equal(disassemble(&d, EM_386, (const uint8_t *)"\x06", 1, 0, &err), 0);
	assert_string_equal(d.rows.items[0].text, "push es");
	disassembly_release(&d);
}

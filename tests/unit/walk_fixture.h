/* SPDX-License-Identifier: MIT */
/*
 * A small handmade world to walk in: functions of 256 bytes with a rule each, in one mapping with a
 * table; executable memory without a table; a stack.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/config.h"
#include "lib/code/unwind/user_walk.h"

#define WORLD_FUNCS 32
#define WORLD_FUNC_SIZE 256
#define WORLD_CODE 0x7f0000400000ull
#define WORLD_VADDR 0x11000ull /* of WORLD_CODE in its file */
#define WORLD_ANON 0x7f0000800000ull
#define WORLD_STACK 0x7ffe00000000ull
#define WORLD_STACK_WORDS 1024
#define WORLD_SP_WORD 64 /* initial sp; memory continues below */
#define WORLD_SP (WORLD_STACK + WORLD_SP_WORD * 8)
#define WORLD_DEPTH 64
#define WORLD_PAGES (WORLD_FUNCS * WORLD_FUNC_SIZE / UNWIND_PAGE_SIZE)

/* A pc in function n, and the address to which its call returns. */
#define IN(n) (WORLD_CODE + WORLD_FUNC_SIZE * (n) + 16)
#define RET(n) (WORLD_CODE + WORLD_FUNC_SIZE * (n) + 32)
/* The first byte of function n: the byte before is in another function. */
#define START(n) (WORLD_CODE + WORLD_FUNC_SIZE * (n))
#define ANON(n) (WORLD_ANON + 32 * (n))

#define KINDS(ra, fp, base) ((ra) | (fp) << 2 | (base) << 4)
/* The rule of most functions: the return address below the CFA, fp and base unchanged. */
#define SIMPLE(reg, offset) \
	((struct unwind_rule){.cfa_kind = UNWIND_CFA_REG, \
			      .cfa_reg = (reg), \
			      .cfa_offset = (offset), \
			      .kinds = KINDS(UNWIND_AT_CFA, UNWIND_SAME, UNWIND_SAME), \
			      .ra_offset = -1})
/* push %rbp; mov %rsp,%rbp */
#define FRAMED \
	((struct unwind_rule){.cfa_kind = UNWIND_CFA_REG, \
			      .cfa_reg = UNWIND_REG_FP, \
			      .cfa_offset = 16, \
			      .kinds = KINDS(UNWIND_AT_CFA, UNWIND_AT_CFA, UNWIND_SAME), \
			      .ra_offset = -1, \
			      .fp_offset = -2})
#define END ((struct unwind_rule){.cfa_kind = UNWIND_CFA_END})

struct world {
	struct walk_target target;
	struct walk_regs regs;
	struct unwind_mapping mappings[2]; /* functions; memory without a table */
	struct unwind_rule rules[UNWIND_RULE_FIRST + WORLD_FUNCS]; /* all zero at first */
	uint32_t words[64];
	struct walk_shard shard;
	uint64_t stack[WORLD_STACK_WORDS];
	uint8_t code[WORLD_FUNCS * WORLD_FUNC_SIZE];
	uint64_t addrs[WORLD_DEPTH];
	uint8_t kinds[WORLD_DEPTH];
	struct walk_path path;
};

/* cmocka: makes a fresh world for each test, with the pc in function 0. */
int world_setup(void **state);
int world_teardown(void **state);
void world_set_rule(struct world *w, uint32_t func, struct unwind_rule rule);
/* Stores a word that many bytes from WORLD_SP. */
void world_store(struct world *w, int offset, uint64_t value);
void world_set_reg(struct world *w, uint32_t dwarf_reg, uint64_t value);
/* Puts bytes before an address of the functions. */
void world_put_code_before(struct world *w, uint64_t addr, const char *bytes, size_t size);
void world_walk(struct world *w);
/* Walks, and compares flags and addresses. */
void world_expect(struct world *w, uint8_t flags, const uint64_t *addrs, size_t count);

#define EXPECT(w, flags, ...) \
	world_expect(w, flags, (const uint64_t[]){__VA_ARGS__}, \
		     sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
#define EXPECT_NONE(w, flags) world_expect(w, flags, NULL, 0)

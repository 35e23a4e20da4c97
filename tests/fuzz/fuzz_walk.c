/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as unwind tables, rules, registers, stack and code: the walker must end within its
 * bounds, and tell how. Guarantees of user space hold here, too: mappings ascend, and a shard's
 * size is a power of two. Nothing else holds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/config.h"
#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "lib/code/unwind/user_walk.h"
#include "tests/fuzz/input.h"

#define MAX_MAPPINGS 8
#define MAX_RULES 24
#define MAX_SHARD_SHIFT 8
#define MAX_DEPTH 64
#define STACK_START 0x7fff0000ull
#define STACK_MAX 4096

struct input {
	struct walk_target target;
	struct walk_regs regs;
	struct unwind_mapping mappings[MAX_MAPPINGS];
	struct unwind_rule rules[MAX_RULES];
	struct walk_shard shard;
	struct walk_piece piece;
	const uint8_t *code;
	size_t code_size;
};

/* Reads an address near the mappings, near the stack, or anywhere; mostly takes two bytes. */
static uint64_t read_addr(struct bytes *b)
{
	uint16_t value = bytes_u16(b);

	if (value < 0x8000)
		return value;
	if (value < 0xf000)
		return STACK_START + (value & 0x1fff);
	return bytes_u64(b);
}

static void read_mappings(struct input *in, struct bytes *b)
{
	size_t count = bytes_u8(b) % (MAX_MAPPINGS + 1);
	uint64_t at = 0;

	for (size_t i = 0; i < count; i++) {
		struct unwind_mapping *m = &in->mappings[i];

		m->start = at + bytes_u16(b) % 4096;
		m->end = m->start + 1 + bytes_u16(b) % 8192;
		m->bias = read_addr(b);
		m->table_start = read_addr(b);
		m->entry = read_addr(b);
		m->shard = bytes_u8(b) & 1;
		m->index_at = bytes_u8(b);
		m->rows_at = bytes_u8(b);
		m->page_count = bytes_u8(b);
		m->flags = bytes_u8(b);
		/* Numbers that only occur by mistake. */
		if (m->flags & 4)
			m->index_at = bytes_u32(b);
		if (m->flags & 8)
			m->rows_at = bytes_u32(b);
		if (m->flags & 16)
			m->page_count = bytes_u32(b);
		at = m->end;
	}
	in->target.mappings = in->mappings;
	in->target.mapping_count = count;
}

static void read_rules(struct input *in, struct bytes *b)
{
	size_t count = bytes_u8(b) % (MAX_RULES + 1);

	for (size_t i = 0; i < count; i++) {
		const void *rule = bytes_take(b, sizeof(in->rules[i]));

		if (rule)
			memcpy(&in->rules[i], rule, sizeof(in->rules[i]));
		/* Most values of a byte are no kind. */
		in->rules[i].cfa_kind %= UNWIND_CFA_LAST + 1;
	}
	in->target.rules = in->rules;
	in->target.rule_count = count;
}

static void read_shard(struct input *in, struct bytes *b)
{
	uint32_t size = 2u << bytes_u8(b) % MAX_SHARD_SHIFT;
	uint32_t *words = xcalloc(size, sizeof(*words));

	for (uint32_t i = 0; i < size; i++)
		words[i] = bytes_u16(b) | (uint32_t)(bytes_u8(b) % (MAX_RULES + 2)) << 16;
	in->shard = (struct walk_shard){words, size};
	in->target.shards = &in->shard;
	in->target.shard_count = 1;
}

static void read_regs(struct input *in, struct bytes *b)
{
	in->regs.pc = read_addr(b);
	in->regs.sp = read_addr(b);
	for (int i = 0; i < 32; i++)
		in->regs.general[i] = read_addr(b);
}

/* A block of exact size, so that sanitizers see reads beyond it. */
static uint8_t *read_stack(struct input *in, struct bytes *b)
{
	size_t size = bytes_left(b) < STACK_MAX ? bytes_left(b) : STACK_MAX;
	uint8_t *stack = xmemdup(bytes_take(b, size), size);

	in->target.stack_start = STACK_START;
	in->target.thread_pointer = STACK_START + 256;
	if (size >= sizeof(in->piece.start))
		memcpy(&in->piece.start, stack, sizeof(in->piece.start));
	in->piece.bytes = stack;
	in->piece.size = size / 2;
	in->piece.is_stack = true;
	in->target.stack = stack;
	in->target.stack_size = size;
	in->target.pieces = &in->piece;
	in->target.piece_count = 1;
	return stack;
}

static bool read_code(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct input *in = ctx;

	if (in->code_size < size)
		return false;
	memcpy(to, in->code + addr % (in->code_size - size + 1), size);
	return true;
}

static void check(const struct walk_path *path)
{
	const uint8_t ends = STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN | STACK_TRUNCATED;
	bool guessed = false;

	require(path->depth <= path->capacity);
	require(__builtin_popcount(path->flags & ends) == 1);
	require(!(path->flags & ~(ends | STACK_GUESSED)));
	for (uint32_t i = 0; i < path->depth; i++) {
		require(path->kinds[i] == FRAME_NATIVE || path->kinds[i] == FRAME_SIGNAL ||
			path->kinds[i] == FRAME_GUESS);
		guessed |= path->kinds[i] == FRAME_GUESS;
	}
	/* The frame without room may be the guess. */
	require(!guessed || path->flags & STACK_GUESSED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addrs[MAX_DEPTH];
	uint8_t kinds[MAX_DEPTH];
	struct walk_path path = {.addrs = addrs, .kinds = kinds};
	struct input in = {.code = data, .code_size = size};
	struct bytes b;
	uint8_t flags, *stack;

	bytes_init(&b, data, size);
	flags = bytes_u8(&b);
	in.target.is_arm64 = flags & 1;
	in.target.pc_mask = flags & 2 ? UINT32_MAX : 0;
	in.target.methods = UNWIND_BY_CFI | (flags & 4 ? UNWIND_BY_FRAME_POINTER : 0) |
			    (flags & 8 ? UNWIND_BY_SCAN : 0);
	in.target.read_code = flags & 16 ? NULL : read_code;
	in.target.ctx = &in;
	path.capacity = bytes_u8(&b) % (MAX_DEPTH + 1);
	read_regs(&in, &b);
	read_mappings(&in, &b);
	read_rules(&in, &b);
	read_shard(&in, &b);
	stack = read_stack(&in, &b);
	walk_stack(&in.target, &in.regs, &path);
	check(&path);
	free(stack);
	free((uint32_t *)in.shard.words);
	return 0;
}

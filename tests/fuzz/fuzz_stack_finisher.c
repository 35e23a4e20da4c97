/* SPDX-License-Identifier: MIT */
/*
 * Any copy of registers and stack, in a process with any mappings: yields a valid stack record
 * within its bounds that tells how it ended, and always the same one.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/base/bytes.h"
#include "lib/stream/record/records.h"
#include "lib/code/unwind/native/stack_finisher.h"
#include "tests/fuzz/input.h"

#define MAPPINGS_MAX 8
#define STACK_MAX 4096
#define CODE_SIZE 0x1000u
#define VADDR 0x1000u
#define NOW 9

enum module {
	MODULE_64BIT,
	MODULE_32BIT,
	MODULE_WITHOUT_TABLE,
	MODULE_COUNT,
};

struct input {
	const uint8_t *code;
	size_t code_size;
	struct mapping_table *mappings;
	struct rec_copy *copy;
};

static void add_module(struct native_tables *t, uint32_t id, uint16_t machine)
{
	struct rec_module *rec = xcalloc(1, rec_module_size(1, 0));

	rec->module_id = id;
	rec->machine = machine;
	rec->segment_count = 1;
	rec->segments[0] = (struct rec_segment){
		.file_offset = VADDR, .file_size = CODE_SIZE, .vaddr = VADDR, .executable = 1};
	module_tables_add(&t->modules, rec, TABLE_NONE);
	free(rec);
}

/* Stores a row per 64 bytes, with rules of several kinds in turn. */
static void store_table(struct native_tables *t, uint32_t id)
{
	static const struct unwind_rule kinds[] = {
		{.cfa_kind = UNWIND_CFA_REG,
		 .cfa_offset = 16,
		 .kinds = UNWIND_AT_CFA,
		 .ra_offset = -1},
		{.cfa_kind = UNWIND_CFA_REG,
		 .cfa_reg = UNWIND_REG_FP,
		 .cfa_offset = 16,
		 .kinds = UNWIND_AT_CFA | UNWIND_AT_CFA << 2,
		 .ra_offset = -1,
		 .fp_offset = -2},
		{.cfa_kind = UNWIND_CFA_NONE},
		{.cfa_kind = UNWIND_CFA_DEREF,
		 .cfa_reg = UNWIND_REG_BASE,
		 .cfa_offset = 8,
		 .kinds = UNWIND_AT_CFA,
		 .ra_offset = -1},
		{.cfa_kind = UNWIND_CFA_REG,
		 .cfa_offset = 160,
		 .kinds = UNWIND_AT_CFA,
		 .flags = UNWIND_SIGNAL_FRAME,
		 .ra_offset = 5},
		{.cfa_kind = UNWIND_CFA_END},
	};
	struct unwind_table table = {.start = VADDR, .page_count = CODE_SIZE / UNWIND_PAGE_SIZE};
	struct rule_numbers rules;
	uint32_t row = 0;

	rule_numbers_init(&rules);
	for (uint32_t page = 0; page < table.page_count; page++) {
		vec_push(&table.index, row);
		for (uint32_t at = 0; at < UNWIND_PAGE_SIZE; at += 64, row++) {
			uint16_t rule = unwind_rules_intern(
				&rules.rules, &kinds[row % (sizeof(kinds) / sizeof(*kinds))]);

			rule_store_number(t->rules, &rules);
			vec_push(&table.rows,
				 (struct unwind_row){(uint16_t)at, rules.numbers.items[rule]});
		}
	}
	vec_push(&table.index, row);
	module_tables_store(&t->modules, id, &table);
	rule_numbers_release(&rules);
	unwind_table_release(&table);
}

/* One per machine, for all inputs. */
static struct native_tables *get_tables(bool is_arm64)
{
	static struct native_tables machines[2];
	struct native_tables *t = &machines[is_arm64];
	struct native_tables_options options = {
		.max_bytes = UNWIND_SHARD_BYTES,
		.machine = {.arch = is_arm64 ? &unwind_arch_aarch64 : &unwind_arch_x86_64,
			    .pc_mask = is_arm64 ? (1ull << 48) - 1 : UINT64_MAX,
			    .page_size = 4096},
	};

	if (t->rules)
		return t;
	native_tables_init(t, &options);
	add_module(t, MODULE_64BIT, is_arm64 ? EM_AARCH64 : EM_X86_64);
	add_module(t, MODULE_32BIT, is_arm64 ? EM_ARM : EM_386);
	add_module(t, MODULE_WITHOUT_TABLE, 0);
	store_table(t, MODULE_64BIT);
	store_table(t, MODULE_32BIT);
	return t;
}

static void read_mappings(struct input *in, struct bytes *b)
{
	size_t count = bytes_u8(b) % (MAPPINGS_MAX + 1);

	in->mappings = mapping_table_new();
	for (size_t i = 0; i < count; i++) {
		uint32_t module = bytes_u8(b) % (MODULE_COUNT + 2);
		struct mapping mapping = {.start = bytes_u16(b), .file_offset = VADDR};

		mapping.end = mapping.start + bytes_u16(b);
		mapping.module = module > MODULE_COUNT ? MAPPING_ANON : module;
		mapping_table_insert(&in->mappings, &mapping, i + 1);
	}
}

/* Corrects only the sizes: the first bytes are the header. */
static void read_copy(struct input *in, struct bytes *b)
{
	struct rec_copy head = {0};
	size_t size = bytes_left(b) < sizeof(head) ? bytes_left(b) : sizeof(head), body;

	if (size)
		memcpy(&head, bytes_take(b, size), size);
	size = bytes_left(b) < STACK_MAX ? bytes_left(b) : STACK_MAX;
	body = size & ~(size_t)7;
	in->copy = xcalloc(1, sizeof(head) + body);
	head.kernel_depth %= body / 8 + 1;
	head.stack_size %= body - head.kernel_depth * 8u + 1;
	head.other_size %= body - head.kernel_depth * 8u - head.stack_size + 1;
	head.managed_count %=
		(uint32_t)((body - head.kernel_depth * 8u - head.stack_size - head.other_size) /
				   sizeof(struct managed_frame) +
			   1);
	record_init(&in->copy->rec, REC_COPY, sizeof(head) + body, 1, head.rec.pid, head.rec.tid);
	head.rec.words = in->copy->rec.words;
	*in->copy = head;
	if (body)
		memcpy(in->copy->body, bytes_take(b, body), body);
}

static bool read_file(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size)
{
	const struct input *in = ctx;

	require(module <= MODULE_COUNT);
	if (in->code_size < size)
		return false;
	memcpy(to, in->code + offset % (in->code_size - size + 1), size);
	return true;
}

static void check(const struct rec_stack *stack, const struct rec_copy *copy)
{
	const uint8_t ends = STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN | STACK_TRUNCATED;

	require(record_is_valid(&stack->rec, record_size(&stack->rec)));
	require(stack->rec.time == NOW && stack->stack_id == copy->stack_id);
	require(stack->kernel_depth <= KERNEL_DEPTH_MAX && stack->user_depth <= USER_DEPTH_MAX);
	require(__builtin_popcount(stack->rec.flags & ends) == 1);
	require(stack->rec.flags & STACK_LATER && !stack->prefix_id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.code = data, .code_size = size};
	struct stack_finisher_options options = {.ctx = &in};
	struct stack_finisher *finisher;
	struct rec_stack *stack, *again;
	struct bytes b;
	uint8_t flags;

	bytes_init(&b, data, size);
	flags = bytes_u8(&b);
	options.tables = get_tables(flags & 1);
	options.methods = UNWIND_BY_CFI | (flags & 2 ? UNWIND_BY_FRAME_POINTER : 0) |
			  (flags & 4 ? UNWIND_BY_SCAN : 0);
	options.read_file = flags & 8 ? read_file : NULL;
	read_mappings(&in, &b);
	read_copy(&in, &b);
	finisher = stack_finisher_new(&options);
	stack = stack_finisher_finish(finisher, in.copy, in.mappings, NULL, NOW);
	check(stack, in.copy);
	again = stack_finisher_finish(finisher, in.copy, in.mappings, NULL, NOW);
	require(record_size(&stack->rec) == record_size(&again->rec) &&
		!memcmp(stack, again, record_size(&stack->rec)));
	free(again);
	free(stack);
	stack_finisher_free(finisher);
	mapping_table_drop(in.mappings);
	free(in.copy);
	return 0;
}

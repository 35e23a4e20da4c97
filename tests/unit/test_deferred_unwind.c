/* SPDX-License-Identifier: MIT */
/* Copied stacks: when they are finished, by which mappings, and into which records. */
#include <stdlib.h>
#include <string.h>

#include <elf.h>

#include "bpf/config.h"
#include "bpf/runtime_layout.h"
#include "lib/base/cleanup.h"
#include "lib/code/unwind/native/deferred_unwind.h"
#include "lib/stream/record/records.h"
#include "tests/unit/test.h"

#define CODE 0x400000ull /* a page of code in a file, at vaddr 0x1000 */
#define VADDR 0x1000u
#define CALLER (CODE + 0x20) /* in functions with frames of 16 bytes */
#define ROOT (CODE + 0x210) /* in the function where stacks end */
#define SP 0x7ffe00000000ull
#define STACK_WORDS 8
#define PID 7

struct fixture {
	struct native_tables tables;
	struct unwind_rule *rules;
	struct mapping_table *mappings;
	struct deferred_unwind *deferred;
	VEC(struct rec_stack *) sent; /* owned */
};

static void take(void *ctx, const struct rec *rec)
{
	struct fixture *f = ctx;

	assert_true(record_is_valid(rec, record_size(rec)));
	assert_int_equal(rec->kind, REC_STACK);
	vec_push(&f->sent, xmemdup(rec, record_size(rec)));
}

static void add_module(struct fixture *f, uint32_t id)
{
	struct rec_module *rec = xcalloc(1, rec_module_size(1, 0));

	rec->module_id = id;
	rec->segment_count = 1;
	rec->segments[0] = (struct rec_segment){
		.file_offset = VADDR, .file_size = 0x1000, .vaddr = VADDR, .executable = 1};
	module_tables_add(&f->tables.modules, rec, TABLE_PENDING);
	free(rec);
}

static void store_table(struct fixture *f, uint32_t id)
{
	struct unwind_table table = {.start = VADDR, .page_count = 1};

	vec_push(&table.rows, (struct unwind_row){.pc_low = 0, .rule = UNWIND_RULE_FIRST});
	vec_push(&table.rows, (struct unwind_row){.pc_low = 0x200, .rule = UNWIND_RULE_END});
	vec_push(&table.index, 0);
	vec_push(&table.index, 2);
	module_tables_store(&f->tables.modules, id, &table);
	unwind_table_release(&table);
}

static void map(struct fixture *f, uint64_t start, uint32_t module, uint64_t stamp)
{
	const struct mapping mapping = {
		.start = start, .end = start + 0x1000, .file_offset = VADDR, .module = module};

	mapping_table_insert(&f->mappings, &mapping, stamp);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct native_tables_options tables = {
		.max_bytes = UNWIND_SHARD_BYTES,
		.machine = {&unwind_arch_x86_64, UINT64_MAX, 4096},
	};
	const struct stack_finisher_options options = {
		.tables = &f->tables,
		.methods = UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
	};

	tables.rules = f->rules = xcalloc(UNWIND_RULES_MAX, sizeof(*f->rules));
	native_tables_init(&f->tables, &tables);
	f->rules[UNWIND_RULE_FIRST] = (struct unwind_rule){
		.cfa_kind = UNWIND_CFA_REG,
		.cfa_reg = UNWIND_REG_SP,
		.cfa_offset = 16,
		.kinds = UNWIND_AT_CFA,
		.ra_offset = -1,
	};
	f->deferred = deferred_unwind_new(&options, take, f);
	f->mappings = mapping_table_new();
	add_module(f, 0);
	map(f, CODE, 0, 1);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	deferred_unwind_free(f->deferred);
	mapping_table_drop(f->mappings);
	native_tables_release(&f->tables);
	vec_for_each(&f->sent, struct rec_stack **, stack)
		free(*stack);
	vec_release(&f->sent);
	free(f->rules);
	free(f);
	return 0;
}

/* Two frames of 16 bytes, then the frame of ROOT. */
static struct rec_copy *make_copy(uint32_t id, uint16_t kernel_depth, uint32_t stack_words)
{
	size_t size = sizeof(struct rec_copy) + (kernel_depth + stack_words) * 8;
	struct rec_copy *copy = xcalloc(1, size);

	record_init(&copy->rec, REC_COPY, size, 1000 + id, PID, PID + 1);
	copy->stack_id = id;
	copy->kernel_depth = kernel_depth;
	copy->stack_size = stack_words * 8;
	copy->pc = CODE + 0x10;
	copy->sp = SP;
	for (uint16_t i = 0; i < kernel_depth; i++)
		copy->body[i] = 0xffffffff81000000ull + i;
	copy->body[kernel_depth + 1] = CALLER;
	copy->body[kernel_depth + 3] = ROOT;
	return copy;
}

static void add_copy(struct fixture *f, uint32_t id)
{
	struct rec_copy *copy = make_copy(id, 0, STACK_WORDS);

	deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 1);
	free(copy);
}

static const struct rec_stack *only_stack(const struct fixture *f)
{
	assert_int_equal(f->sent.count, 1);
	return f->sent.items[0];
}

/* The frames of the stack checked last. */
static uint64_t addrs[8];
static uint8_t kinds[8];

static void unpack(const struct rec_stack *stack)
{
	struct stack_body body = stack_record_body(stack);

	assert_true(body.depth <= 8);
	assert_int_equal(stack_body_unpack(&body, 0, addrs, kinds), body.depth);
}

static void expect_whole(const struct rec_stack *stack, uint32_t id)
{
	assert_int_equal(stack->stack_id, id);
	assert_int_equal(stack->rec.flags, STACK_WHOLE | STACK_LATER);
	assert_int_equal(stack->kernel_depth, 0);
	assert_int_equal(stack->user_depth, 2);
	unpack(stack);
	assert_int_equal(addrs[0], CALLER);
	assert_int_equal(addrs[1], ROOT);
	assert_int_equal(kinds[0], FRAME_NATIVE);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(a_copy_waits_for_the_table)
{
	struct fixture *f = *state;

	add_copy(f, 5);
	deferred_unwind_flush(f->deferred, 2000, false);
	deferred_unwind_flush(f->deferred, 2001, false);
	assert_int_equal(f->sent.count, 0);
	store_table(f, 0);
	deferred_unwind_flush(f->deferred, 2002, false);
	expect_whole(only_stack(f), 5);
	assert_int_equal(only_stack(f)->rec.time, 2002);
	assert_int_equal(only_stack(f)->rec.pid, PID);
	assert_int_equal(only_stack(f)->rec.tid, PID + 1);
	deferred_unwind_flush(f->deferred, 2003, true);
	assert_int_equal(f->sent.count, 1);
}

CASE(copies_from_before_the_runtime_are_counted)
{
	struct fixture *f = *state;
	struct rec_copy *copy;

	store_table(f, 0);
	add_copy(f, 5);
	deferred_unwind_flush(f->deferred, 2000, false);
	assert_int_equal(deferred_unwind_early(f->deferred), 0);
	f->tables.modules.rows.items[0].runtime = RUNTIME_PYTHON;
	add_copy(f, 6);
	deferred_unwind_flush(f->deferred, 2001, false);
	assert_int_equal(deferred_unwind_early(f->deferred), 1);
	/* The kernel has looked for functions: there are none. */
	copy = make_copy(7, 0, STACK_WORDS);
	copy->rec.flags = COPY_KNOWS_RUNTIME;
	deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 1);
	free(copy);
	deferred_unwind_flush(f->deferred, 2002, false);
	assert_int_equal(deferred_unwind_early(f->deferred), 1);
	/* Labels of Go are not a matter of stacks. */
	f->tables.modules.rows.items[0].runtime = RUNTIME_GO;
	add_copy(f, 8);
	deferred_unwind_flush(f->deferred, 2003, false);
	assert_int_equal(deferred_unwind_early(f->deferred), 1);
	assert_int_equal(f->sent.count, 4);
}

CASE(at_the_end_nothing_waits)
{
	struct fixture *f = *state;

	add_copy(f, 5);
	deferred_unwind_flush(f->deferred, 2000, true);
	assert_int_equal(only_stack(f)->rec.flags, STACK_UNKNOWN | STACK_LATER);
	assert_int_equal(only_stack(f)->user_depth, 0);
}

/*
 * The kernel's walker does not know words of 4 bytes: all stacks of such a program are finished
 * here.
 */
CASE(a_32bit_program_has_words_of_4_bytes)
{
	struct fixture *f = *state;
	struct rec_copy *copy = make_copy(3, 0, STACK_WORDS);
	uint32_t *words = (uint32_t *)copy->body;

	f->tables.modules.rows.items[0].machine = EM_386;
	store_table(f, 0);
	/* A frame of 16 bytes, then one found by the frame pointer, x86-64's register 6. */
	f->rules[UNWIND_RULE_FIRST].cfa_reg = UNWIND_REG_FP;
	copy->general[6] = SP & UINT32_MAX;
	copy->sp = SP & UINT32_MAX;
	memset(words, 0, STACK_WORDS * 8);
	words[3] = ROOT;
	deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 1);
	free(copy);
	deferred_unwind_flush(f->deferred, 2000, false);
	assert_int_equal(only_stack(f)->rec.flags, STACK_WHOLE | STACK_LATER);
	assert_int_equal(only_stack(f)->user_depth, 1);
	unpack(only_stack(f));
	assert_int_equal(addrs[0], ROOT);
}

CASE(without_mappings_it_is_unknown_at_once)
{
	struct fixture *f = *state;
	struct rec_copy *copy = make_copy(3, 0, STACK_WORDS);

	deferred_unwind_add(f->deferred, copy, NULL, NULL, 0, 1);
	free(copy);
	deferred_unwind_flush(f->deferred, 2000, false);
	assert_int_equal(only_stack(f)->rec.flags, STACK_UNKNOWN | STACK_LATER);
}

CASE(what_is_mapped_later_does_not_count)
{
	struct fixture *f = *state;

	add_copy(f, 1);
	/* Another file takes its place, but its table never comes. */
	add_module(f, 1);
	map(f, CODE, 1, 2);
	add_copy(f, 2);
	store_table(f, 0);
	deferred_unwind_flush(f->deferred, 2000, false);
	expect_whole(only_stack(f), 1);
}

/* Each stack has its own process's mappings, although several copies share a description. */
CASE(copies_of_several_processes_do_not_mix)
{
	struct fixture *f = *state;
	struct mapping_table *first = mapping_table_hold(f->mappings);
	struct rec_copy *moved = make_copy(2, 0, STACK_WORDS);

	add_copy(f, 1);
	mapping_table_drop(f->mappings);
	f->mappings = mapping_table_new();
	map(f, CODE + 0x100000, 0, 9);
	moved->pc += 0x100000;
	moved->body[1] += 0x100000;
	moved->body[3] += 0x100000;
	deferred_unwind_add(f->deferred, moved, f->mappings, NULL, 0, 1);
	deferred_unwind_add(f->deferred, moved, first, NULL, 0, 1);
	free(moved);
	store_table(f, 0);
	deferred_unwind_flush(f->deferred, 2000, false);
	mapping_table_drop(first);
	assert_int_equal(f->sent.count, 3);
	expect_whole(f->sent.items[0], 1);
	assert_int_equal(f->sent.items[1]->rec.flags, STACK_WHOLE | STACK_LATER);
	unpack(f->sent.items[1]);
	assert_int_equal(addrs[1], ROOT + 0x100000);
	assert_int_equal(f->sent.items[2]->rec.flags, STACK_UNKNOWN | STACK_LATER);
}

CASE(the_kernel_side_comes_first)
{
	struct fixture *f = *state;
	struct rec_copy *copy = make_copy(8, 3, STACK_WORDS);
	const uint64_t expected[] = {
		0xffffffff81000000,
		0xffffffff81000001,
		0xffffffff81000002,
		CODE + 0x10,
		CALLER,
		ROOT,
	};
	const struct rec_stack *stack;

	copy->rec.flags = COPY_LEAF_KERNEL;
	store_table(f, 0);
	deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 1);
	free(copy);
	deferred_unwind_flush(f->deferred, 2000, false);
	stack = only_stack(f);
	assert_int_equal(stack->kernel_depth, 3);
	assert_int_equal(stack->user_depth, 3);
	assert_int_equal(stack->rec.flags, STACK_WHOLE | STACK_LATER | STACK_USER_PC);
	unpack(stack);
	assert_memory_equal(addrs, expected, sizeof(expected));
	assert_int_equal(kinds[2], FRAME_KERNEL);
	assert_int_equal(kinds[3], FRAME_NATIVE);
}

CASE(where_the_copy_ends_so_does_the_stack)
{
	struct fixture *f = *state;
	struct rec_copy *copy = make_copy(4, 0, 4);

	copy->stack_size = 16; /* the second return address is outside */
	copy->rec.words -= 2;
	store_table(f, 0);
	deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 1);
	free(copy);
	deferred_unwind_flush(f->deferred, 2000, false);
	assert_int_equal(only_stack(f)->rec.flags, STACK_TRUNCATED | STACK_LATER);
	assert_int_equal(only_stack(f)->user_depth, 1);
}

CASE(what_waits_is_bounded)
{
	struct fixture *f = *state;
	struct rec_copy *copy = make_copy(0, 0, COPY_BYTES_MAX / 8);
	const uint32_t some = 3 * (uint32_t)(DEFERRED_BYTES_MAX / record_size(&copy->rec));

	for (uint32_t i = 0; i < some; i++) {
		copy->stack_id = i + 1;
		deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 1500 + i);
	}
	/* The oldest copies are finished early, by what is known: nothing is lost. */
	assert_in_range(f->sent.count, 2 * some / 3, some - some / 6);
	for (uint32_t i = 0; i < f->sent.count; i++) {
		assert_int_equal(f->sent.items[i]->stack_id, i + 1);
		assert_int_equal(f->sent.items[i]->rec.flags, STACK_UNKNOWN | STACK_LATER);
		assert_in_range(f->sent.items[i]->rec.time, 1500 + i, 1500 + some);
	}
	store_table(f, 0);
	deferred_unwind_flush(f->deferred, 9000, false);
	assert_int_equal(f->sent.count, some);
	assert_int_equal(f->sent.items[some - 1]->rec.flags, STACK_WHOLE | STACK_LATER);
	/* Their room goes to copies whose table never comes. */
	add_module(f, 1);
	map(f, CODE, 1, 2);
	for (uint32_t i = 0; i < some / 4; i++)
		deferred_unwind_add(f->deferred, copy, f->mappings, NULL, 0, 9001);
	assert_int_equal(f->sent.count, some);
	free(copy);
}

/* Each copy holds the mappings of its time, which may be large and different each time. */
CASE(so_are_the_mappings_that_they_hold)
{
	const uint32_t rows = 30000,
		       some = 3 * DEFERRED_BYTES_MAX / (rows * sizeof(struct mapping));
	struct fixture *f = *state;

	for (uint32_t i = 0; i < rows; i++)
		map(f, 2 * CODE + i * 0x2000ull, 0, 2 + i);
	for (uint32_t i = 0; i < some; i++) {
		add_copy(f, 2 * i);
		add_copy(f, 2 * i + 1);
		map(f, CODE / 2 + i * 0x2000ull, 0, 2 + rows + i);
	}
	assert_in_range(f->sent.count, some, 2 * some - 1);
	deferred_unwind_flush(f->deferred, 2000, true);
	assert_int_equal(f->sent.count, 2 * some);
	assert_int_equal(f->mappings->holders, 1);
}

/* SPDX-License-Identifier: MIT */
/* Generated code: its descriptions for the walker, and stacks that wait for it. */
#include <stdlib.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/live/unwind/unwinder.h"
#include "lib/stream/record/records.h"
#include "tests/unit/jit_frame.h"
#include "tests/unit/test.h"

#define PID 7
#define CHILD 8
#define CODE 0x7f0000000000ull
#define CODE_SIZE 0x100000u
#define PIECE (CODE + 0x20000)
#define PIECE_SIZE 0x40u
#define FRAME 32
#define SP 0x7ffe00000000ull
#define STACK_WORDS 8
#define SECOND 1000000000ull

struct fixture {
	struct live_processes *processes;
	struct unwinder *u;
	struct file_set *files;
	struct unwind_rule *rules;
	unsigned int times; /* number of descriptions of PID or CHILD */
	struct unwind_space space; /* last description */
	uint64_t now;
	unsigned int sent;
	uint64_t caller; /* in the last stack; 0: not found */
};

static void set_space(void *ctx, uint32_t pid, const struct unwind_space *space)
{
	struct fixture *f = ctx;

	f->times++;
	f->space = space ? *space : (struct unwind_space){0};
}

static void take(void *ctx, const struct rec *rec)
{
	const struct rec_stack *stack = (const struct rec_stack *)rec;
	struct stack_body body = stack_record_body(stack);
	struct fixture *f = ctx;
	uint64_t addrs[8];
	uint8_t kinds[8];

	assert_int_equal(rec->kind, REC_STACK);
	assert_in_range(body.depth, 0, 8);
	f->sent++;
	f->caller = stack_body_unpack(&body, 0, addrs, kinds) ? addrs[0] : 0;
}

static struct live_process *process(struct fixture *f, uint32_t pid)
{
	return live_processes_add(f->processes, pid, 0);
}

static void exec_process(struct fixture *f, uint32_t pid)
{
	live_processes_exec(f->processes, process(f, pid), f->now);
}

/* Ends the process, past all late events. */
static void end_process(struct fixture *f, uint32_t pid)
{
	live_processes_exit(f->processes, pid, f->now);
	for (int i = 0; i < 3; i++)
		live_processes_next_round(f->processes, f->now);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct unwinder_options options = {
		.walker = {.shards_fd = -1, .first_shard_fd = -1, .set_space = set_space, .ctx = f},
		.methods = UNWIND_BY_CFI,
		.max_bytes = 4 * UNWIND_SHARD_BYTES,
		.sink = take,
		.ctx = f,
	};
	struct rec_map map = {.start = CODE, .end = CODE + CODE_SIZE, .module_id = NO_REC_MODULE};

	options.walker.rules = f->rules = xcalloc(UNWIND_RULES_MAX, sizeof(*f->rules));
	options.files = f->files = file_set_new(16);
	options.processes = f->processes = live_processes_new();
	f->now = SECOND;
	*state = f;
	if (unwinder_new(&f->u, &options, NULL))
		return -1;
	record_init(&map.rec, REC_MAP, sizeof(map), f->now, PID, PID);
	unwinder_map(f->u, process(f, PID), &map);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	live_processes_free(f->processes);
	unwinder_free(f->u);
	file_set_free(f->files);
	free(f->rules);
	free(f);
	return 0;
}

static void flush(struct fixture *f, uint64_t after_ns)
{
	f->now += after_ns;
	unwinder_flush(f->u, f->now, false);
}

/* Describes code made or moved at that time; 0: unknown time. */
static void tell_code_at(struct fixture *f, uint64_t start, uint64_t moved_from, uint64_t since)
{
	uint8_t eh_frame[JIT_FRAME_SIZE];
	struct code_piece piece = {
		.start = start,
		.size = PIECE_SIZE,
		.moved_from = moved_from,
		.since = since,
		.is_exact = since,
		.eh_frame = eh_frame,
		.eh_frame_size = sizeof(eh_frame),
	};

	jit_frame_make(eh_frame, PIECE_SIZE, FRAME);
	unwinder_code(f->u, process(f, PID), &piece);
}

static void tell_code(struct fixture *f, uint64_t start, uint64_t moved_from)
{
	tell_code_at(f, start, moved_from, f->now);
}

/* Copies a stack in the piece of code that begins there, with a caller in the same memory. */
static void copy_as(struct fixture *f, uint32_t pid, uint64_t start, uint8_t flags)
{
	const size_t size = sizeof(struct rec_copy) + STACK_WORDS * 8;
	struct rec_copy *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_COPY, size, f->now, pid, pid);
	rec->rec.flags = flags;
	rec->stack_id = 3;
	rec->stack_size = STACK_WORDS * 8;
	rec->pc = start + 8;
	rec->sp = SP;
	rec->body[FRAME / 8 - 1] = CODE + 0x10;
	unwinder_copy(f->u, process(f, pid), rec, f->now);
	free(rec);
}

static void copy(struct fixture *f, uint32_t pid, uint64_t start)
{
	copy_as(f, pid, start, 0);
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(what_the_walker_is_told)
{
	struct unwinder_stats stats;
	struct fixture *f = *state;

	flush(f, 1);
	assert_int_equal(f->space.count, 1);
	tell_code(f, PIECE, 0);
	flush(f, 1);
	assert_int_equal(f->times, 2);
	assert_int_equal(f->space.count, 3);
	unwinder_get_stats(f->u, &stats);
	assert_int_equal(stats.code_pieces, 1);
	flush(f, 1);
	assert_int_equal(f->times, 2);
	exec_process(f, PID);
	flush(f, 1);
	assert_int_equal(f->space.count, 0);
}

CASE(stacks_wait_until_code_is_told_of)
{
	struct fixture *f = *state;

	unwinder_code(f->u, process(f, PID), NULL);
	flush(f, 1);
	copy(f, PID, PIECE);
	flush(f, SECOND / 10);
	assert_int_equal(f->sent, 0);
	/* The code was made before, but more may follow. */
	tell_code_at(f, PIECE, 0, SECOND);
	flush(f, 10 * SECOND);
	assert_int_equal(f->sent, 0);
	/* The next piece was made later. */
	tell_code(f, PIECE + 0x2000, 0);
	assert_int_equal(f->sent, 1);
	assert_int_equal(f->caller, CODE + 0x10);
	/* The code has moved. */
	tell_code(f, PIECE + 0x1000, PIECE);
	copy(f, PID, PIECE);
	copy(f, PID, PIECE + 0x1000);
	flush(f, SECOND);
	tell_code(f, PIECE + 0x3000, 0);
	assert_int_equal(f->sent, 3);
	assert_int_equal(f->caller, CODE + 0x10);
}

/* A list has no times, but was read to its end at one. */
CASE(stacks_wait_until_all_code_is_told_of)
{
	struct fixture *f = *state;
	uint64_t taken;

	tell_code_at(f, PIECE + 0x2000, 0, 0);
	flush(f, 1);
	taken = f->now;
	copy(f, PID, PIECE);
	flush(f, SECOND / 10);
	tell_code_at(f, PIECE, 0, 0);
	unwinder_described(f->u, process(f, PID), taken);
	assert_int_equal(f->sent, 0);
	unwinder_described(f->u, process(f, PID), taken + 1);
	assert_int_equal(f->sent, 1);
	assert_int_equal(f->caller, CODE + 0x10);
}

/* Everything new in a dump is read at once: code that was made, sampled, and moved since. */
CASE(stacks_of_before_a_move_have_the_rows_of_the_old_place)
{
	struct fixture *f = *state;
	const uint64_t moved = SECOND + 1000;

	unwinder_code(f->u, process(f, PID), NULL);
	flush(f, 1);
	copy(f, PID, PIECE);
	f->now = moved + 1;
	copy(f, PID, PIECE + 0x1000);
	flush(f, SECOND / 10);
	tell_code_at(f, PIECE, 0, SECOND);
	assert_int_equal(f->sent, 0);
	tell_code_at(f, PIECE + 0x1000, PIECE, moved);
	assert_int_equal(f->sent, 1);
	assert_int_equal(f->caller, CODE + 0x10);
	f->caller = 0;
	end_process(f, PID);
	assert_int_equal(f->sent, 2);
	assert_int_equal(f->caller, CODE + 0x10);
}

/* Without times, every waiting stack is older. */
CASE(a_move_without_a_time)
{
	struct fixture *f = *state;

	unwinder_code(f->u, process(f, PID), NULL);
	flush(f, 1);
	copy(f, PID, PIECE);
	tell_code_at(f, PIECE, 0, 0);
	assert_int_equal(f->sent, 0);
	tell_code_at(f, PIECE + 0x1000, PIECE, 0);
	assert_int_equal(f->sent, 1);
	assert_int_equal(f->caller, CODE + 0x10);
}

CASE(nobody_waits_for_a_process_that_is_gone)
{
	struct fixture *f = *state;

	unwinder_code(f->u, process(f, PID), NULL);
	flush(f, 1);
	copy(f, PID, PIECE);
	tell_code_at(f, PIECE, 0, SECOND);
	end_process(f, PID);
	assert_int_equal(f->sent, 1);
	assert_int_equal(f->caller, CODE + 0x10);
}

CASE(a_child_has_its_parent_s_code)
{
	struct fixture *f = *state;

	tell_code(f, PIECE, 0);
	flush(f, 1);
	live_processes_fork(f->processes, CHILD, PID, f->now);
	flush(f, 1);
	assert_int_equal(f->space.count, 3);
	end_process(f, PID);
	copy(f, CHILD, PIECE);
	flush(f, SECOND);
	assert_int_equal(f->caller, CODE + 0x10);
}

/* A process that never describes its code is not waited for again and again. */
CASE(only_some_stacks_wait_in_vain)
{
	struct fixture *f = *state;
	unsigned int count = 0;

	unwinder_code(f->u, process(f, PID), NULL);
	flush(f, 1);
	while (f->times == 1) {
		assert_in_range(++count, 1, 10000);
		copy(f, PID, PIECE);
		flush(f, 1);
	}
	assert_int_equal(f->times, 2);
	flush(f, SECOND);
	assert_int_equal(f->sent, 0);
	copy(f, PID, PIECE);
	flush(f, 1);
	assert_int_equal(f->sent, 1);
	/* Describing some code gives hope for more. */
	tell_code(f, PIECE, 0);
	assert_int_equal(f->sent, count + 1);
	copy(f, PID, PIECE);
	flush(f, 1);
	assert_int_equal(f->sent, count + 1);
}

/* A busy machine takes the CPU from a thread far more often than the clock samples it. */
CASE(waits_take_no_tick_s_place)
{
	const unsigned int many = 2000;
	struct fixture *f = *state;
	unsigned int early;

	unwinder_code(f->u, process(f, PID), NULL);
	flush(f, 1);
	for (unsigned int i = 0; i < many; i++)
		copy_as(f, PID, PIECE, COPY_BY_TRACEPOINT);
	flush(f, SECOND);
	early = f->sent;
	assert_in_range(early, 1, many - 1);
	/* The walker hears once that no more of these wait. */
	assert_int_equal(f->times, 2);
	copy(f, PID, PIECE);
	flush(f, SECOND);
	assert_int_equal(f->sent, early);
	tell_code_at(f, PIECE, 0, SECOND);
	end_process(f, PID);
	assert_int_equal(f->sent, many + 1);
	assert_int_equal(f->caller, CODE + 0x10);
}

/* Code without a description is unwound by frame pointers. */
CASE(where_not_all_code_is_told_of_nothing_waits)
{
	struct code_piece piece = {.start = PIECE + 0x1000, .size = PIECE_SIZE};
	struct fixture *f = *state;

	unwinder_code(f->u, process(f, PID), NULL);
	unwinder_code(f->u, process(f, PID), &piece);
	tell_code(f, PIECE, 0);
	flush(f, 1);
	copy(f, PID, PIECE + 0x1000);
	flush(f, 1);
	assert_int_equal(f->sent, 1);
	copy(f, PID, PIECE);
	flush(f, 1);
	assert_int_equal(f->sent, 2);
	assert_int_equal(f->caller, CODE + 0x10);
}

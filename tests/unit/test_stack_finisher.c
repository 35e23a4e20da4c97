/* SPDX-License-Identifier: MIT */
/*
 * Finishes the stack of a program that has ended, from what it noted about itself (registers, a
 * copy of its stack, its mappings) and the files that it ran. The reference is the C compiler's own
 * unwinder, asked while the program lived.
 */

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "lib/code/binary/vdso.h"
#include "lib/live/process/maps_walk.h"
#include "lib/stream/record/records.h"
#include "lib/code/unwind/native/deferred_unwind.h"
#include "lib/code/unwind/native/table_pool.h"
#include "tests/unit/test.h"

#define DEPTH 256
#define RECURSION 20
#define RED_ZONE 128
#define STACK_MAX (1u << 17)
#define MAPS_MAX (1u << 16)
#define KERNEL_ADDR 0xffffffff81000001ull
#define FOREVER_NS (1ull << 60)

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#endif

/* Results of the program, in memory that both share. */
struct legacy {
	uint64_t pc, sp, general[32];
	uint64_t stack[STACK_MAX / 8]; /* from RED_ZONE below sp on */
	size_t stack_size; /* 0: the program did not come that far */
	char maps[MAPS_MAX];
	/* From the function that took the stack. */
	void *reference[DEPTH];
	int reference_depth;
};

static struct legacy *legacy;
static volatile unsigned int sink;

static void save_regs(const ucontext_t *context)
{
#if defined(__x86_64__)
	static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15};

	for (int i = 0; i < 16; i++)
		legacy->general[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	legacy->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	legacy->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	for (int i = 0; i < 31; i++)
		legacy->general[i] = context->uc_mcontext.regs[i];
	legacy->sp = context->uc_mcontext.sp;
	legacy->pc = context->uc_mcontext.pc;
#endif
}

/* Copies word by word, because sanitizers guard the gaps between variables. */
__attribute__((no_sanitize("address"))) static void save_stack(uint64_t end)
{
	const volatile uint64_t *from = (const uint64_t *)(uintptr_t)(legacy->sp - RED_ZONE);
	size_t size = end - (legacy->sp - RED_ZONE);

	legacy->stack_size = size < STACK_MAX ? size & ~(size_t)7 : STACK_MAX;
	for (size_t i = 0; i < legacy->stack_size / 8; i++)
		legacy->stack[i] = from[i];
}

static void save_maps(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n;

	while ((n = read(fd, legacy->maps + size, MAPS_MAX - 1 - size)) > 0)
		size += (size_t)n;
	close(fd);
}

/* Returns the end of the memory that the stack pointer is in. */
static uint64_t find_stack_end(void)
{
	_cleanup_free_ char *text = xstrdup(legacy->maps);
	char *line = text, *rest;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *end;
		uint64_t start = strtoull(line, &end, 16), stop = strtoull(end + 1, NULL, 16);

		if (legacy->sp >= start && legacy->sp < stop)
			return stop;
	}
	return legacy->sp;
}

static NOINLINE void take_stack(void)
{
	ucontext_t context;

	legacy->reference_depth = backtrace(legacy->reference, DEPTH);
	save_maps();
	getcontext(&context);
	save_regs(&context);
	save_stack(find_stack_end());
	sink++;
}

static NOINLINE unsigned int recurse(int depth)
{
	unsigned int values[7];

	for (unsigned int i = 0; i < 7; i++)
		values[i] = (unsigned int)depth * i + sink;
	if (depth == 0)
		take_stack();
	else
		sink += recurse(depth - 1);
	return values[depth % 7] + values[sink & 3];
}

static void take_in_handler(int number)
{
	recurse(3);
}

/* Called by the C library, which distributions build their own way. */
static int compare_and_raise(const void *a, const void *b)
{
	if (!legacy->stack_size)
		raise(SIGUSR1);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void run(int depth)
{
	int values[] = {3, 1, 2};

	if (depth)
		run(depth - 1);
	else
		qsort(values, 3, sizeof(values[0]), compare_and_raise);
	sink += (unsigned int)values[0];
}

/* Everything that a stack finisher needs. */
struct fixture {
	struct native_tables tables;
	struct table_pool *pool;
	struct mapping_table *mappings;
	VEC(int) fds; /* by module; -1: none */
	struct rec_copy *copy;
};

static void add_module(struct fixture *f, int fd)
{
	uint32_t id = (uint32_t)f->fds.count;
	struct binary_summary summary = {0};
	bool is_binary = fd >= 0 && binary_summarize(fd, &summary, NULL) == 0;
	struct rec_module *rec = xcalloc(1, rec_module_size(summary.segment_count, 0));

	rec->module_id = id;
	rec->machine = summary.machine;
	for (size_t i = 0; i < summary.segment_count; i++)
		rec->segments[rec->segment_count++] = (struct rec_segment){
			.file_offset = summary.segments[i].file_offset,
			.file_size = summary.segments[i].file_size,
			.vaddr = summary.segments[i].vaddr,
			.executable = summary.segments[i].executable,
		};
	module_tables_add(&f->tables.modules, rec, is_binary ? TABLE_PENDING : TABLE_NONE);
	if (is_binary)
		assert_true(table_pool_submit(f->pool, id, fcntl(fd, F_DUPFD_CLOEXEC, 3)));
	vec_push(&f->fds, fd);
	binary_summary_release(&summary);
	free(rec);
}

static void add_map(struct fixture *f, const struct proc_map *map)
{
	struct mapping mapping = {.start = map->start,
				  .end = map->end,
				  .file_offset = map->file_offset,
				  .module = (uint32_t)f->fds.count};

	if (strcmp(map->path, "[vdso]") == 0)
		add_module(f, vdso_open(NULL));
	else if (map->path[0] == '/')
		add_module(f, open(map->path, O_RDONLY | O_CLOEXEC));
	else
		mapping.module = MAPPING_ANON;
	mapping_table_insert(&f->mappings, &mapping, map->start);
}

static void make_copy(struct fixture *f)
{
	size_t size = sizeof(*f->copy) + 8 + legacy->stack_size;
	struct rec_copy *copy = f->copy = xcalloc(1, size);

	record_init(&copy->rec, REC_COPY, size, 1, 7, 8);
	copy->rec.cpu = 3;
	copy->stack_id = 11;
	copy->kernel_depth = 1;
	copy->below_sp = RED_ZONE;
	copy->stack_size = (uint32_t)legacy->stack_size;
	copy->pc = legacy->pc;
	copy->sp = legacy->sp;
	memcpy(copy->general, legacy->general, sizeof(copy->general));
	copy->body[0] = KERNEL_ADDR;
	memcpy(copy->body + 1, legacy->stack, legacy->stack_size);
}

/* Runs the program to its end. */
static void run_program(void)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGUSR1, take_in_handler);
		run(RECURSION);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(legacy->stack_size > 0);
}

static int setup(void **state)
{
	const struct native_tables_options options = {.max_bytes = 64 * UNWIND_SHARD_BYTES,
						      .machine = unwind_machine_own()};
	struct fixture *f = xcalloc(1, sizeof(*f));
	void *first[1];
	struct proc_map map;
	char *at;

	*state = f;
	/* The first call loads the unwinder's library. */
	backtrace(first, 1);
	legacy = mmap(NULL, sizeof(*legacy), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(legacy != MAP_FAILED);
	run_program();
	native_tables_init(&f->tables, &options);
	f->pool = table_pool_new(f->tables.rules, -1);
	assert_non_null(f->pool);
	f->mappings = mapping_table_new();
	for (at = legacy->maps; proc_maps_next(&at, &map);) {
		if (map.executable)
			add_map(f, &map);
	}
	make_copy(f);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	table_pool_free(f->pool);
	mapping_table_drop(f->mappings);
	native_tables_release(&f->tables);
	vec_for_each(&f->fds, const int *, fd) {
		if (*fd >= 0)
			close(*fd);
	}
	vec_release(&f->fds);
	free(f->copy);
	munmap(legacy, sizeof(*legacy));
	free(f);
	return 0;
}

static void take_tables(struct fixture *f)
{
	struct table_result result;

	assert_true(table_pool_wait(f->pool, 0, FOREVER_NS));
	while (table_pool_next(f->pool, &result)) {
		module_tables_store(&f->tables.modules, result.module_id, &result.table);
		unwind_table_release(&result.table);
	}
}

/* Expects the frames of the reference above take_stack(), to the last. */
static void check_stack(const struct rec_stack *stack)
{
	struct stack_body body = stack_record_body(stack);
	uint64_t addrs[DEPTH];
	uint8_t kinds[DEPTH];
	int first = 0, signals = 0;

	assert_true(record_is_valid(&stack->rec, record_size(&stack->rec)));
	assert_in_range(body.depth, RECURSION, DEPTH);
	stack_body_unpack(&body, 0, addrs, kinds);
	assert_int_equal(stack->rec.flags, STACK_WHOLE | STACK_LATER);
	assert_int_equal(stack->rec.cpu, 3);
	assert_int_equal(stack->rec.pid, 7);
	assert_int_equal(stack->rec.tid, 8);
	assert_int_equal(stack->stack_id, 11);
	assert_int_equal(stack->kernel_depth, 1);
	assert_int_equal(addrs[0], KERNEL_ADDR);
	assert_int_equal(kinds[0], FRAME_KERNEL);
	while (first < legacy->reference_depth && (uint64_t)legacy->reference[first] != addrs[1])
		first++;
	assert_in_range(first, 1, 3);
	assert_int_equal(stack->user_depth, legacy->reference_depth - first);
	for (uint32_t i = 0; i < stack->user_depth; i++) {
		assert_int_equal(addrs[1 + i], legacy->reference[first + (int)i]);
		signals += kinds[1 + i] == FRAME_SIGNAL;
	}
#if !defined(__SANITIZE_THREAD__)
	assert_int_equal(signals, 1);
#endif
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(a_copy_is_all_that_it_takes)
{
	struct fixture *f = *state;
	const struct stack_finisher_options options = {.tables = &f->tables,
						       .methods = UNWIND_BY_CFI};
	struct stack_finisher *finisher = stack_finisher_new(&options);
	struct rec_stack *stack;

	take_tables(f);
	stack = stack_finisher_finish(finisher, f->copy, f->mappings, NULL, 5);
	assert_int_equal(stack->rec.time, 5);
	check_stack(stack);
	free(stack);
	stack_finisher_free(finisher);
}

static void keep(void *ctx, const struct rec *rec)
{
	struct rec_stack **stack = ctx;

	assert_null(*stack);
	*stack = xmemdup(rec, record_size(rec));
}

CASE(it_waits_for_the_tables)
{
	struct fixture *f = *state;
	const struct stack_finisher_options options = {.tables = &f->tables,
						       .methods = UNWIND_BY_CFI};
	struct rec_stack *stack = NULL;
	struct deferred_unwind *deferred = deferred_unwind_new(&options, keep, &stack);

	deferred_unwind_add(deferred, f->copy, f->mappings, NULL, 0, 1);
	deferred_unwind_flush(deferred, 2, false);
	assert_null(stack);
	take_tables(f);
	deferred_unwind_flush(deferred, 3, false);
	assert_non_null(stack);
	check_stack(stack);
	free(stack);
	deferred_unwind_free(deferred);
}

/* Reads code from the file. */
static bool read_file(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size)
{
	const struct fixture *f = ctx;

	return pread(f->fds.items[module], to, size, (off_t)offset) == (ssize_t)size;
}

/* Without tables, the stack is searched for return addresses. */
CASE(without_tables_calls_are_guessed_at)
{
	struct fixture *f = *state;
	const struct stack_finisher_options options = {
		.tables = &f->tables, .methods = UNWIND_BY_SCAN, .read_file = read_file, .ctx = f};
	struct stack_finisher *finisher = stack_finisher_new(&options);
	const struct unwind_table none = {0};
	struct rec_stack *stack;
	uint64_t addrs[DEPTH];
	uint8_t kinds[DEPTH];
	struct stack_body body;

	for (uint32_t id = 0; id < f->fds.count; id++)
		module_tables_store(&f->tables.modules, id, &none);
	stack = stack_finisher_finish(finisher, f->copy, f->mappings, NULL, 5);
	body = stack_record_body(stack);
	assert_true(stack->rec.flags & STACK_GUESSED);
	assert_in_range(body.depth, 2, DEPTH);
	stack_body_unpack(&body, 0, addrs, kinds);
	assert_int_equal(kinds[1], FRAME_GUESS);
	free(stack);
	stack_finisher_free(finisher);
}

/* SPDX-License-Identifier: MIT */
/*
 * The walker on this program's own stack, with tables of the files that it runs: in its own
 * functions and those of the C library, behind signals, and wherever a timer interrupts. The C
 * compiler's own unwinder is the reference.
 */

#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/cleanup.h"
#include "lib/code/binary/vdso.h"
#include "lib/live/process/maps_walk.h"
#include "lib/stream/process/mapping.h"
#include "lib/code/unwind/user_walk.h"
#include "tests/unit/walk_tables.h"
#include "tests/unit/test.h"

#define DEPTH 256
#define RECURSION 50
#define RED_ZONE 128
#define INTERRUPTS 300
/* Per thousand interrupts, this many may be in code that cannot be unwound. */
#define BROKEN_PER_MILLE 10

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#define NO_FRAME_POINTER NOINLINE
#else
#define NOINLINE __attribute__((noinline, noclone))
#define NO_FRAME_POINTER __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#endif

/* The thread sanitizer calls handlers itself, later than the signal. */
#if defined(__SANITIZE_THREAD__)
static const bool handlers_interrupt = false;
#else
static const bool handlers_interrupt = true;
#endif

static struct walk_tables tables;
static uint64_t stack_end;

/* Stacks of this program, taken at one place. */
struct observation {
	uint64_t addrs[DEPTH];
	uint8_t kinds[DEPTH];
	struct walk_path path;
	uint64_t pc;
	/* By the compiler's unwinder, from the function that took the stack. */
	void *reference[DEPTH];
	int reference_depth;
};

static struct observation observed;

/* Return addresses that functions noted themselves; innermost first. */
static uint64_t returns[DEPTH];
static size_t return_count;
static volatile unsigned int sink;

static void load_regs(const ucontext_t *context, struct walk_regs *regs)
{
#if defined(__x86_64__)
	static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
					  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15};

	for (int i = 0; i < 16; i++)
		regs->general[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	regs->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	regs->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	for (int i = 0; i < 31; i++)
		regs->general[i] = context->uc_mcontext.regs[i];
	regs->sp = context->uc_mcontext.sp;
	regs->pc = context->uc_mcontext.pc;
#endif
}

/* Walks in place: nothing is copied, and the stack is in use. */
static void walk(const ucontext_t *context)
{
	struct walk_target target = {
#if defined(__aarch64__)
		.is_arm64 = true,
#endif
		.pc_mask = walk_own_pc_mask(),
		.methods = UNWIND_BY_CFI,
	};
	struct walk_regs regs = {0};

	load_regs(context, &regs);
	walk_tables_target(&tables, &target);
	target.stack_start = regs.sp - RED_ZONE;
	target.stack = (const uint8_t *)(uintptr_t)target.stack_start;
	target.stack_size = stack_end - target.stack_start;
	observed.pc = regs.pc;
	observed.path = (struct walk_path){
		.addrs = observed.addrs, .kinds = observed.kinds, .capacity = DEPTH};
	walk_stack(&target, &regs, &observed.path);
}

/* Runs both unwinders from here on. */
static NOINLINE void take_stacks(void)
{
	ucontext_t context;

	observed.reference_depth = backtrace(observed.reference, DEPTH);
	getcontext(&context);
	walk(&context);
	sink++;
}

/* Expects the frames of the reference above take_stacks(), to the last. */
static void check_frames(void)
{
	int first = 0;

	assert_int_equal(observed.path.flags, STACK_WHOLE);
	assert_true(observed.path.depth > 1);
	while (first < observed.reference_depth &&
	       (uint64_t)observed.reference[first] != observed.addrs[0])
		first++;
	assert_in_range(first, 1, 3); /* take_stacks() itself; under sanitizers, backtrace(), too */
	assert_int_equal(observed.path.depth, observed.reference_depth - first);
	for (uint32_t i = 0; i < observed.path.depth; i++)
		assert_int_equal(observed.addrs[i], observed.reference[first + (int)i]);
}

/* Expects the noted return addresses in order, possibly with gaps. */
static void check_returns(void)
{
	size_t found = 0;

	for (uint32_t i = 0; i < observed.path.depth && found < return_count; i++)
		found += observed.addrs[i] == returns[return_count - 1 - found];
	assert_int_equal(found, return_count);
}

#define NOTE_RETURN() \
	(returns[return_count++] = \
		 (uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))

static NO_FRAME_POINTER unsigned int recurse(int depth, void (*take_now)(void))
{
	unsigned int values[7];

	NOTE_RETURN();
	for (unsigned int i = 0; i < 7; i++)
		values[i] = (unsigned int)depth * i + sink;
	if (depth == 0)
		take_now();
	else
		sink += recurse(depth - 1, take_now);
	return values[depth % 7] + values[sink & 3];
}

TEST(recursion)
{
	return_count = 0;
	recurse(RECURSION, take_stacks);
	assert_int_equal(return_count, RECURSION + 1);
	check_frames();
	check_returns();
}

/* Frames of variable size: their CFA is based on the frame pointer. */
static NOINLINE int with_variable_frame(int depth, size_t size)
{
	char array[size];
	char *allocated = __builtin_alloca(size * 2);

	NOTE_RETURN();
	memset(array, depth, size);
	memset(allocated, depth, size * 2);
	if (depth == 0)
		take_stacks();
	else
		sink += (unsigned int)with_variable_frame(depth - 1, size + 13);
	return array[size / 2] + allocated[size];
}

TEST(variable_frames)
{
	return_count = 0;
	with_variable_frame(20, 10);
	check_frames();
	check_returns();
}

struct wide {
	int numbers[16];
} __attribute__((aligned(64)));

/* Realigned stacks: the CFA is in memory. */
static NOINLINE int with_aligned_frame(int depth, const struct wide *above)
{
	struct wide own = *above;

	NOTE_RETURN();
	own.numbers[depth & 15] += depth;
	__asm__ volatile("" : : "r"(&own) : "memory");
	if (depth == 0)
		take_stacks();
	else
		sink += (unsigned int)with_aligned_frame(depth - 1, &own);
	return own.numbers[3];
}

TEST(aligned_frames)
{
	struct wide wide = {.numbers = {1, 2, 3}};

	return_count = 0;
	with_aligned_frame(12, &wide);
	check_frames();
	check_returns();
}

static int compare_and_take(const void *a, const void *b)
{
	NOTE_RETURN();
	if (return_count < 8)
		recurse(3, take_stacks);
	return *(const int *)a - *(const int *)b;
}

/* Called by the C library, which distributions build their own way. */
TEST(callback_of_library)
{
	int values[] = {3, 1, 2};

	return_count = 0;
	qsort(values, 3, sizeof(values[0]), compare_and_take);
	assert_int_equal(values[0], 1);
	check_frames();
}

static void take_in_handler(int number)
{
	recurse(2, take_stacks);
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static int count_kind(uint8_t kind)
{
	int count = 0;

	for (uint32_t i = 0; i < observed.path.depth; i++)
		count += observed.kinds[i] == kind;
	return count;
}

static void install(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

TEST(through_signal)
{
	return_count = 0;
	install(SIGUSR1, take_in_handler);
	recurse(RECURSION, raise_signal);
	check_frames();
	check_returns();
	if (handlers_interrupt)
		assert_int_equal(count_kind(FRAME_SIGNAL), 1);
}

static void raise_another(int number)
{
	raise(SIGUSR2);
}

TEST(through_two_signals)
{
	return_count = 0;
	install(SIGUSR1, raise_another);
	install(SIGUSR2, take_in_handler);
	recurse(5, raise_signal);
	check_frames();
	check_returns();
	if (handlers_interrupt)
		assert_int_equal(count_kind(FRAME_SIGNAL), 2);
}

/* Results of a timer's interrupts; the handler only counts. */
static struct {
	int interrupts, whole, wrong, unseen;
	uint64_t wrong_pc;
} found;

/* The reference must first pass handler and trampoline, and may not get far. */
static void compare_interrupted(int number, siginfo_t *info, void *context)
{
	int first = 0;

	(void)number, (void)info;
	observed.reference_depth = backtrace(observed.reference, DEPTH);
	walk(context);
	while (first < observed.reference_depth &&
	       (uint64_t)observed.reference[first] != observed.pc)
		first++;
	found.interrupts++;
	found.unseen += first == observed.reference_depth;
	found.whole += observed.path.flags == STACK_WHOLE;
	first++;
	for (uint32_t i = 0; i < observed.path.depth && first + (int)i < observed.reference_depth;
	     i++) {
		if ((uint64_t)observed.reference[first + (int)i] == observed.addrs[i])
			continue;
		found.wrong++;
		found.wrong_pc = observed.pc;
		return;
	}
}

static int compare_numbers(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static NO_FRAME_POINTER unsigned int work(unsigned int depth)
{
	int values[50];
	char text[64];

	if (depth)
		return work(depth - 1) + depth;
	for (unsigned int i = 0; i < 50; i++)
		values[i] = (int)((i + sink) * 7919 % 101);
	qsort(values, 50, sizeof(values[0]), compare_numbers);
	snprintf(text, sizeof(text), "%d %.3f %s", values[3], values[5] * 0.1, "text");
	return (unsigned int)strtod(text, NULL) + (unsigned int)strlen(text);
}

static void start_timer(long interval_us)
{
	struct itimerval timer = {{0, interval_us}, {0, interval_us}};

	assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

TEST(interrupted_anywhere)
{
	struct sigaction action = {.sa_sigaction = compare_interrupted,
				   .sa_flags = SA_SIGINFO | SA_RESTART};

	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	start_timer(1000);
	for (unsigned int i = 0; found.interrupts < INTERRUPTS; i++)
		sink += work(i % 30);
	start_timer(0);
	if (!handlers_interrupt)
		return;
	if (found.wrong)
		print_error("interrupted at %#llx\n", (unsigned long long)found.wrong_pc);
	assert_int_equal(found.wrong, 0);
	assert_int_equal(found.unseen, 0);
	assert_in_range((found.interrupts - found.whole) * 1000 / found.interrupts, 0,
			BROKEN_PER_MILLE);
}

static char *read_own_maps(void)
{
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct strbuf text = {0};
	char buf[4096];
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(&text, buf, (size_t)n);
	return strbuf_take(&text);
}

static void add_own_map(struct mapping_table **mappings, const struct proc_map *map)
{
	struct mapping mapping = {.start = map->start,
				  .end = map->end,
				  .file_offset = map->file_offset,
				  .module = MAPPING_ANON};

	if (strcmp(map->path, "[vdso]") == 0)
		mapping.module = walk_tables_add(&tables, vdso_open(NULL));
	else if (map->path[0] == '/')
		mapping.module = walk_tables_add(&tables, open(map->path, O_RDONLY | O_CLOEXEC));
	mapping_table_insert(mappings, &mapping, map->start);
}

static void find_stack(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *start;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
	assert_int_equal(pthread_attr_getstack(&attributes, &start, &size), 0);
	pthread_attr_destroy(&attributes);
	stack_end = (uint64_t)(uintptr_t)start + size;
}

static int load_tables(void **state)
{
	struct mapping_table *mappings = mapping_table_new();
	_cleanup_free_ char *text = NULL;
	struct proc_map map;
	char *at;

	/* The first call loads the unwinder's library. */
	observed.reference_depth = backtrace(observed.reference, DEPTH);
	find_stack();
	walk_tables_init(&tables);
	text = at = read_own_maps();
	while (proc_maps_next(&at, &map)) {
		if (map.executable)
			add_own_map(&mappings, &map);
	}
	walk_tables_describe(&tables, mappings);
	mapping_table_drop(mappings);
	return 0;
}

static int release_tables(void **state)
{
	walk_tables_release(&tables);
	return 0;
}

TEST_GROUP(load_tables, release_tables);

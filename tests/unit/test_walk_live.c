/* SPDX-License-Identifier: MIT */
/*
 * The walker on the stack of this very program, with tables compiled of the files that it runs: in
 * functions of its own and of the C library, behind signals, and wherever a timer interrupts it.
 * The C compiler's own unwinder says what is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
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
#include "lib/base/strbuf.h"
#include "lib/binary/vdso.h"
#include "lib/live/process/proc_maps.h"
#include "lib/process/mapping.h"
#include "lib/unwind/walk.h"
#include "tests/unit/walk_tables.h"

#define DEPTH 256
#define RECURSION 50
#define RED_ZONE 128
#define INTERRUPTS 300
/* Of interrupts, so many in a thousand may be in code that nobody can unwind. */
#define BROKEN_PER_MILLE 10

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#define NO_FRAME_POINTER NOINLINE
#else
#define NOINLINE __attribute__((noinline, noclone))
#define NO_FRAME_POINTER __attribute__((noinline, noclone, optimize("omit-frame-pointer")))
#endif

/* The thread sanitizer calls handlers itself, later, and not where the signal came. */
#if defined(__SANITIZE_THREAD__)
static const bool handlers_interrupt = false;
#else
static const bool handlers_interrupt = true;
#endif

static struct walk_tables tables;
static uint64_t stack_end;

/* What one look at the own stack gave. */
struct look {
	uint64_t addrs[DEPTH];
	uint8_t kinds[DEPTH];
	struct walk_path path;
	uint64_t pc;
	/* By the compiler's unwinder, from the function that looked on. */
	void *reference[DEPTH];
	int reference_depth;
};

static struct look look;

/* Where calls really return to, as the functions themselves know it; innermost first. */
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

/* Everything lies where it is: nothing is copied, and what the walker reads is in use. */
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
	look.pc = regs.pc;
	look.path = (struct walk_path){.addrs = look.addrs, .kinds = look.kinds, .capacity = DEPTH};
	walk_stack(&target, &regs, &look.path);
}

/* Both unwinders, from here on. */
static NOINLINE void look_around(void)
{
	ucontext_t context;

	look.reference_depth = backtrace(look.reference, DEPTH);
	getcontext(&context);
	walk(&context);
	sink++;
}

/* The frames of the reference behind look_around() are ours, to the last. */
static void check_frames(void)
{
	int first = 0;

	assert_int_equal(look.path.flags, STACK_WHOLE);
	assert_true(look.path.depth > 1);
	while (first < look.reference_depth && (uint64_t)look.reference[first] != look.addrs[0])
		first++;
	assert_in_range(first, 1, 3); /* look_around() itself; under sanitizers, backtrace(), too */
	assert_int_equal(look.path.depth, look.reference_depth - first);
	for (uint32_t i = 0; i < look.path.depth; i++)
		assert_int_equal(look.addrs[i], look.reference[first + (int)i]);
}

/* What the functions noted themselves is there, in order, though not without gaps. */
static void check_returns(void)
{
	size_t found = 0;

	for (uint32_t i = 0; i < look.path.depth && found < return_count; i++)
		found += look.addrs[i] == returns[return_count - 1 - found];
	assert_int_equal(found, return_count);
}

#define NOTE_RETURN() \
	(returns[return_count++] = \
		 (uint64_t)(uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))

static NO_FRAME_POINTER unsigned int recurse(int depth, void (*look_now)(void))
{
	unsigned int values[7];

	NOTE_RETURN();
	for (unsigned int i = 0; i < 7; i++)
		values[i] = (unsigned int)depth * i + sink;
	if (depth == 0)
		look_now();
	else
		sink += recurse(depth - 1, look_now);
	return values[depth % 7] + values[sink & 3];
}

static void recursion(void **state)
{
	(void)state;
	return_count = 0;
	recurse(RECURSION, look_around);
	assert_int_equal(return_count, RECURSION + 1);
	check_frames();
	check_returns();
}

/* Frames whose size is not known before they run: their CFA rests on the frame pointer. */
static NOINLINE int with_variable_frame(int depth, size_t size)
{
	char array[size];
	char *allocated = __builtin_alloca(size * 2);

	NOTE_RETURN();
	memset(array, depth, size);
	memset(allocated, depth, size * 2);
	if (depth == 0)
		look_around();
	else
		sink += (unsigned int)with_variable_frame(depth - 1, size + 13);
	return array[size / 2] + allocated[size];
}

static void variable_frames(void **state)
{
	(void)state;
	return_count = 0;
	with_variable_frame(20, 10);
	check_frames();
	check_returns();
}

struct wide {
	int numbers[16];
} __attribute__((aligned(64)));

/* Realigned stacks: the CFA is what memory says. */
static NOINLINE int with_aligned_frame(int depth, const struct wide *above)
{
	struct wide own = *above;

	NOTE_RETURN();
	own.numbers[depth & 15] += depth;
	__asm__ volatile("" : : "r"(&own) : "memory");
	if (depth == 0)
		look_around();
	else
		sink += (unsigned int)with_aligned_frame(depth - 1, &own);
	return own.numbers[3];
}

static void aligned_frames(void **state)
{
	struct wide wide = {.numbers = {1, 2, 3}};

	(void)state;
	return_count = 0;
	with_aligned_frame(12, &wide);
	check_frames();
	check_returns();
}

static int compare_and_look(const void *a, const void *b)
{
	NOTE_RETURN();
	if (return_count < 8)
		recurse(3, look_around);
	return *(const int *)a - *(const int *)b;
}

/* Through the C library, which is built as distributions build. */
static void callback_of_library(void **state)
{
	int values[] = {3, 1, 2};

	(void)state;
	return_count = 0;
	qsort(values, 3, sizeof(values[0]), compare_and_look);
	assert_int_equal(values[0], 1);
	check_frames();
}

static void look_in_handler(int number)
{
	(void)number;
	recurse(2, look_around);
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static int count_kind(uint8_t kind)
{
	int count = 0;

	for (uint32_t i = 0; i < look.path.depth; i++)
		count += look.kinds[i] == kind;
	return count;
}

static void install(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void through_signal(void **state)
{
	(void)state;
	return_count = 0;
	install(SIGUSR1, look_in_handler);
	recurse(RECURSION, raise_signal);
	check_frames();
	check_returns();
	if (handlers_interrupt)
		assert_int_equal(count_kind(FRAME_SIGNAL), 1);
}

static void raise_another(int number)
{
	(void)number;
	raise(SIGUSR2);
}

static void through_two_signals(void **state)
{
	(void)state;
	return_count = 0;
	install(SIGUSR1, raise_another);
	install(SIGUSR2, look_in_handler);
	recurse(5, raise_signal);
	check_frames();
	check_returns();
	if (handlers_interrupt)
		assert_int_equal(count_kind(FRAME_SIGNAL), 2);
}

/* What a timer found: only counted in the handler. */
static struct {
	int interrupts, whole, wrong, unseen;
	uint64_t wrong_pc;
} found;

/* The reference goes through handler and trampoline first, and may not get far from there. */
static void compare_interrupted(int number, siginfo_t *info, void *context)
{
	int first = 0;

	(void)number, (void)info;
	look.reference_depth = backtrace(look.reference, DEPTH);
	walk(context);
	while (first < look.reference_depth && (uint64_t)look.reference[first] != look.pc)
		first++;
	found.interrupts++;
	found.unseen += first == look.reference_depth;
	found.whole += look.path.flags == STACK_WHOLE;
	first++;
	for (uint32_t i = 0; i < look.path.depth && first + (int)i < look.reference_depth; i++) {
		if ((uint64_t)look.reference[first + (int)i] == look.addrs[i])
			continue;
		found.wrong++;
		found.wrong_pc = look.pc;
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

static void interrupted_anywhere(void **state)
{
	struct sigaction action = {.sa_sigaction = compare_interrupted,
				   .sa_flags = SA_SIGINFO | SA_RESTART};

	(void)state;
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

	(void)state;
	/* The first call loads the unwinder's library. */
	look.reference_depth = backtrace(look.reference, DEPTH);
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
	(void)state;
	walk_tables_release(&tables);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion),
		cmocka_unit_test(variable_frames),
		cmocka_unit_test(aligned_frames),
		cmocka_unit_test(callback_of_library),
		cmocka_unit_test(through_signal),
		cmocka_unit_test(through_two_signals),
		cmocka_unit_test(interrupted_anywhere),
	};

	return cmocka_run_group_tests(tests, load_tables, release_tables);
}

/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Allocates, and prints the bytes that it allocated and those that it leaks.
 *
 *	allocs ROUNDS		three sites leak 30 % of the bytes, three free the rest; a third each is
 *				in blocks of 16 bytes, of 4 KB and of 3 MB
 *	allocs threads ROUNDS	blocks that other threads free
 *	allocs realloc ROUNDS	blocks that grow, and are freed
 *	allocs fork ROUNDS	a child leaks as the parent does
 *	allocs exec ROUNDS	leaks, then executes "allocs ROUNDS"
 *	allocs child ROUNDS	a child does, after half a second, as "allocs few ROUNDS"
 *	allocs second LIBRARY	the allocator of a library that it loads: leaks, frees, then as
 *				"allocs 1"
 *	allocs array ROUNDS	reallocarray(), which calls realloc()
 *	allocs pairs COUNT	prints the least CPU time of malloc() and free() of 16 bytes, in ns,
 *				of several passes
 *	allocs busy COUNT	prints that of each pass, until there is a file "go"
 *	allocs wait ROUNDS	the first, once there is a file "go"
 *	allocs few ROUNDS	likewise, without the blocks of 16 bytes, of which there are many
 */
/* clang-format on */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
#define SMALL 16
#define PAGE 4096
#define LARGE (3 << 20)
/* Large blocks that a round leaks and frees, and as many bytes of others. */
#define LEAKED 3
#define FREED 7

static unsigned long allocated, leaked;

/* Nothing is known of it, so that no call is left out. */
static void *volatile last;

static void *use(void *block, size_t size)
{
	last = block;
	allocated += size;
	return block;
}

NOINLINE static void leak_small(void)
{
	use(malloc(SMALL), SMALL);
	leaked += SMALL;
}

NOINLINE static void leak_page(void)
{
	use(calloc(1, PAGE), PAGE);
	leaked += PAGE;
}

NOINLINE static void leak_large(void)
{
	use(aligned_alloc(64, LARGE), LARGE);
	leaked += LARGE;
}

NOINLINE static void free_small(void)
{
	free(use(malloc(SMALL), SMALL));
}

NOINLINE static void free_page(void)
{
	void *block = NULL;

	if (posix_memalign(&block, 64, PAGE) == 0)
		free(use(block, PAGE));
}

NOINLINE static void free_large(void)
{
	free(use(malloc(LARGE), LARGE));
}

static void run(void (*leak)(void), void (*drop)(void), int factor)
{
	for (int i = 0; i < LEAKED * factor; i++)
		leak();
	for (int i = 0; i < FREED * factor; i++)
		drop();
}

static void run_large(void)
{
	run(leak_large, free_large, 1);
	run(leak_page, free_page, LARGE / PAGE);
}

static void run_rounds(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		run_large();
		run(leak_small, free_small, LARGE / SMALL);
	}
}

static void print(void)
{
	printf("%lu %lu\n", allocated, leaked);
	fflush(stdout);
}

#define PASSES 40
#define HANDED 1000

NOINLINE static void *free_others(void *arg)
{
	void **blocks = arg;

	for (int i = 0; i < HANDED; i++)
		free(blocks[i]);
	return NULL;
}

NOINLINE static void allocate_for_others(void **blocks)
{
	for (int i = 0; i < HANDED; i++)
		blocks[i] = use(malloc(PAGE), PAGE);
}

static void run_threads(int rounds)
{
	static void *blocks[HANDED];
	pthread_t thread;

	for (int i = 0; i < rounds; i++) {
		allocate_for_others(blocks);
		pthread_create(&thread, NULL, free_others, blocks);
		pthread_join(thread, NULL);
	}
}

NOINLINE static void grow(void)
{
	void *block = NULL;

	for (size_t size = 1000; size <= 64000; size *= 2)
		block = use(realloc(block, size), size);
	free(block);
}

static void await_go(void)
{
	while (access("go", F_OK) != 0)
		usleep(10000);
}

static void *(*second_malloc)(size_t);
static void (*second_free)(void *);

NOINLINE static void leak_second(void)
{
	use(second_malloc(PAGE), PAGE);
	leaked += PAGE;
}

NOINLINE static void free_second(void)
{
	second_free(use(second_malloc(PAGE), PAGE));
}

static void run_child(int rounds)
{
	await_go();
	if (fork()) {
		wait(NULL);
		return;
	}
	usleep(500000);
	for (int i = 0; i < rounds; i++)
		run_large();
}

static int run_second(const char *library)
{
	void *handle;

	await_go();
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return 1;
	second_malloc = (void *(*)(size_t))dlsym(handle, "malloc");
	second_free = (void (*)(void *))dlsym(handle, "free");
	/* Attaching takes a while. */
	usleep(500000);
	run(leak_second, free_second, 4 * LARGE / PAGE);
	run_rounds(1);
	return 0;
}

NOINLINE static void leak_array(void)
{
	use(reallocarray(NULL, PAGE / 16, 16), PAGE);
	leaked += PAGE;
}

NOINLINE static void free_array(void)
{
	free(use(reallocarray(NULL, PAGE / 16, 16), PAGE));
}

static double pass_pairs(long count)
{
	struct timespec start, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	for (long i = 0; i < count; i++)
		free(use(malloc(SMALL), SMALL));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       (double)count;
}

static void run_pairs(long count)
{
	double least = pass_pairs(count);

	for (int i = 1; i < PASSES; i++) {
		double time = pass_pairs(count);

		if (time < least)
			least = time;
	}
	printf("%.2f\n", least);
}

static void run_busy(long count)
{
	while (access("go", F_OK) != 0)
		printf("%.2f\n", pass_pairs(count));
}

static int run_kind(const char *kind, const char *number)
{
	int rounds = atoi(number);

	if (strcmp(kind, "threads") == 0) {
		run_threads(rounds);
	} else if (strcmp(kind, "realloc") == 0) {
		for (int i = 0; i < rounds; i++)
			grow();
	} else if (strcmp(kind, "fork") == 0) {
		run_rounds(rounds);
		if (fork() == 0)
			allocated = leaked = 0;
		else
			wait(NULL);
		run_rounds(rounds);
	} else if (strcmp(kind, "exec") == 0) {
		run_rounds(rounds);
		execl("/proc/self/exe", "allocs", number, (char *)NULL);
		return 1;
	} else if (strcmp(kind, "pairs") == 0) {
		run_pairs(atol(number));
		return 0;
	} else if (strcmp(kind, "child") == 0) {
		run_child(rounds);
	} else if (strcmp(kind, "second") == 0) {
		if (run_second(number))
			return 1;
	} else if (strcmp(kind, "array") == 0) {
		await_go();
		for (int i = 0; i < rounds; i++)
			run(leak_array, free_array, 4 * LARGE / PAGE);
	} else if (strcmp(kind, "busy") == 0) {
		run_busy(atol(number));
		return 0;
	} else {
		await_go();
		for (int i = 0; i < rounds; i++) {
			run_large();
			if (strcmp(kind, "few") != 0)
				run(leak_small, free_small, LARGE / SMALL);
		}
	}
	print();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return run_kind(argv[1], argv[2]);
	run_rounds(argc > 1 ? atoi(argv[1]) : 1);
	print();
	return 0;
}

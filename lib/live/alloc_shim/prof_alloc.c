/* SPDX-License-Identifier: MIT */
/*
 * prof-alloc.so: reports a sample of a program's allocations by two USDT probes, which cost nothing
 * without a listener:
 *
 *	otel_memory:alloc(address, size, weighted)	weighted: bytes represented
 *	otel_memory:free(address)			a sampled block
 *
 * It is preloaded into unsuspecting programs. So it allocates nothing, takes no lock, makes no
 * system call, keeps errno, and works before constructors have run, in signal handlers and after
 * fork(). Its thread-local memory is part of each thread from the start.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/live/alloc_shim/sampled_blocks.h"

#define MEAN_VARIABLE "PROF_ALLOC_MEAN="
#define MEAN_DEFAULT (512 << 10)

#define SHOWN __attribute__((visibility("default"), used))
#define RARE __attribute__((noinline, cold))

/* A note in the format of systemtap's <sys/sdt.h>, which describes probes. */
#define PROBE_NOTE(name, semaphore, arguments) \
	"990: nop\n" \
	".pushsection .note.stapsdt,\"\",\"note\"\n" \
	".balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: .8byte 990b\n" \
	".8byte _.stapsdt.base\n" \
	".8byte " semaphore "\n" \
	".asciz \"otel_memory\"\n" \
	".asciz \"" name "\"\n" \
	".asciz \"" arguments "\"\n" \
	"994: .balign 4\n" \
	".popsection\n" \
	".ifndef _.stapsdt.base\n" \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	".weak _.stapsdt.base\n" \
	".hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	".size _.stapsdt.base, 1\n" \
	".popsection\n" \
	".endif\n"

/*
 * Semaphore: the kernel counts listeners here, in the first writable mapping of that page of the
 * file. The page must be one of its own: lld puts data that become read-only into the same.
 */
#define SEMAPHORE \
	__attribute__((section(".probes"), aligned(4096), used, \
		       visibility("hidden"))) volatile unsigned short
SEMAPHORE alloc_listeners = 0;
SEMAPHORE free_listeners = 0;

#if defined(__x86_64__)
#define FIRST "8@%%rdi"
#define ALL "8@%%rdi 8@%%rsi 8@%%rdx"
#define FIRST_REGISTER "rdi"
#define SECOND_REGISTER "rsi"
#define THIRD_REGISTER "rdx"
#elif defined(__aarch64__)
#define FIRST "8@x0"
#define ALL "8@x0 8@x1 8@x2"
#define FIRST_REGISTER "x0"
#define SECOND_REGISTER "x1"
#define THIRD_REGISTER "x2"
#else
#error "no registers are known for this machine"
#endif

static struct block_table blocks;
static double mean = MEAN_DEFAULT;
static __thread struct byte_sampler sampler __attribute__((tls_model("initial-exec")));

/* prof may read these at any time. */
SHOWN uint64_t prof_alloc_overflow;

RARE static void probe_alloc(void *address, size_t size, uint64_t weighted)
{
	register void *first asm(FIRST_REGISTER) = address;
	register size_t second asm(SECOND_REGISTER) = size;
	register uint64_t third asm(THIRD_REGISTER) = weighted;

	asm volatile(PROBE_NOTE("alloc", "alloc_listeners", ALL)
		     :
		     : "r"(first), "r"(second), "r"(third)
		     : "memory");
}

RARE static void probe_free(void *address)
{
	register void *first asm(FIRST_REGISTER) = address;

	asm volatile(PROBE_NOTE("free", "free_listeners", FIRST) : : "r"(first) : "memory");
}

/* Returns a seed that differs between threads, processes and runs. */
static uint64_t make_seed(void)
{
	static uint64_t threads;
	const uint64_t *bytes = (const uint64_t *)getauxval(AT_RANDOM);
	uint64_t seed = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) * BLOCK_HASH;

	if (bytes)
		seed ^= bytes[0] ^ bytes[1] * 3;
	return seed ^ (uintptr_t)&sampler;
}

/* Handles an allocation that may contain the next marked byte. */
RARE static void sample(void *address, size_t size)
{
	if (!sampler.random) {
		byte_sampler_begin(&sampler, make_seed(), mean);
		if (byte_sampler_passes(&sampler, size))
			return;
	}
	byte_sampler_draw(&sampler, mean);
	if (block_table_add(&blocks, (uintptr_t)address))
		probe_alloc(address, size, byte_sampler_weight(size, mean));
	else
		__atomic_fetch_add(&prof_alloc_overflow, 1, __ATOMIC_RELAXED);
}

static inline bool has_listeners(void)
{
	return __builtin_expect(alloc_listeners, 0);
}

static inline void *allocated(void *address, size_t size)
{
	if (address && !byte_sampler_passes(&sampler, size))
		sample(address, size);
	return address;
}

RARE static void forget(void *address)
{
	if (block_table_take(&blocks, (uintptr_t)address))
		probe_free(address);
}

/* Call before the allocator gets the block back. */
static inline void freed(void *address)
{
	if (__builtin_expect(free_listeners, 0) &&
	    block_table_may_have(&blocks, (uintptr_t)address))
		forget(address);
}

/*
 * Memory for allocations during the lookup of the allocator: the dynamic linker makes some to store
 * an error. It is never reused.
 */
static char early[16 << 10] __attribute__((aligned(16)));
static size_t early_used;

static bool is_early(const void *address)
{
	return (uintptr_t)address - (uintptr_t)early < sizeof(early);
}

static void *allocate_early(size_t size, size_t alignment)
{
	size_t room = size + alignment + 15, at;

	if (size > sizeof(early) || alignment > sizeof(early))
		return NULL;
	at = __atomic_fetch_add(&early_used, room & ~(size_t)15, __ATOMIC_RELAXED);
	if (at > sizeof(early) - room)
		return NULL;
	return (void *)(((uintptr_t)early + at + alignment - 1) & ~(alignment - 1));
}

/*
 * The allocator's functions: those after this library in lookup order. Initially, functions that
 * look them up.
 */
static void *first_malloc(size_t size);
static void *first_calloc(size_t count, size_t size);
static void *first_realloc(void *address, size_t size);
static void first_free(void *address);
static void *first_memalign(size_t alignment, size_t size);
static void *first_aligned_alloc(size_t alignment, size_t size);
static int first_posix_memalign(void **address, size_t alignment, size_t size);
static void *first_valloc(size_t size);
static void *first_pvalloc(size_t size);

static void *(*next_malloc)(size_t) = first_malloc;
static void *(*next_calloc)(size_t, size_t) = first_calloc;
static void *(*next_realloc)(void *, size_t) = first_realloc;
static void (*next_free)(void *) = first_free;
static void *(*next_memalign)(size_t, size_t) = first_memalign;
static void *(*next_aligned_alloc)(size_t, size_t) = first_aligned_alloc;
static int (*next_posix_memalign)(void **, size_t, size_t) = first_posix_memalign;
static void *(*next_valloc)(size_t) = first_valloc;
static void *(*next_pvalloc)(size_t) = first_pvalloc;

/*
 * This version exists in all libcs. Those before 2.34 lack the later version, and the program would
 * fail to start.
 */
#ifdef __x86_64__
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#else
__asm__(".symver dlsym, dlsym@GLIBC_2.17");
#endif

static __thread bool is_resolving __attribute__((tls_model("initial-exec")));

static void resolve_one(void *function, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (found)
		__atomic_store_n((void **)function, found, __ATOMIC_RELEASE);
}

/* Returns false if called recursively. Threads may run it concurrently, and get the same result. */
static bool resolve(void)
{
	int error = errno;

	if (is_resolving)
		return false;
	is_resolving = true;
	resolve_one(&next_free, "free");
	resolve_one(&next_realloc, "realloc");
	resolve_one(&next_calloc, "calloc");
	resolve_one(&next_memalign, "memalign");
	resolve_one(&next_aligned_alloc, "aligned_alloc");
	resolve_one(&next_posix_memalign, "posix_memalign");
	resolve_one(&next_valloc, "valloc");
	resolve_one(&next_pvalloc, "pvalloc");
	resolve_one(&next_malloc, "malloc");
	is_resolving = false;
	errno = error;
	return true;
}

static void *first_malloc(size_t size)
{
	return resolve() && next_malloc != first_malloc ? next_malloc(size)
							: allocate_early(size, 16);
}

static void *first_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (resolve() && next_calloc != first_calloc)
		return next_calloc(count, size);
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : allocate_early(bytes, 16);
}

static void *first_realloc(void *address, size_t size)
{
	return resolve() && next_realloc != first_realloc ? next_realloc(address, size) : NULL;
}

static void first_free(void *address)
{
	if (resolve() && next_free != first_free)
		next_free(address);
}

static void *first_memalign(size_t alignment, size_t size)
{
	return resolve() && next_memalign != first_memalign ? next_memalign(alignment, size)
							    : allocate_early(size, alignment);
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return resolve() && next_aligned_alloc != first_aligned_alloc
		       ? next_aligned_alloc(alignment, size)
		       : allocate_early(size, alignment);
}

static int first_posix_memalign(void **address, size_t alignment, size_t size)
{
	if (resolve() && next_posix_memalign != first_posix_memalign)
		return next_posix_memalign(address, alignment, size);
	*address = allocate_early(size, alignment);
	return *address ? 0 : ENOMEM;
}

static void *first_valloc(size_t size)
{
	return resolve() && next_valloc != first_valloc ? next_valloc(size) : NULL;
}

static void *first_pvalloc(size_t size)
{
	return resolve() && next_pvalloc != first_pvalloc ? next_pvalloc(size) : NULL;
}

/* Functions called by programs. */

SHOWN void *malloc(size_t size)
{
	if (!has_listeners())
		return next_malloc(size);
	return allocated(next_malloc(size), size);
}

SHOWN void *calloc(size_t count, size_t size)
{
	if (!has_listeners())
		return next_calloc(count, size);
	/* The allocator has rejected products that overflow. */
	return allocated(next_calloc(count, size), count * size);
}

static void *move_early(void *address, size_t size)
{
	size_t room = (size_t)(early + sizeof(early) - (char *)address);
	void *moved = malloc(size);

	if (moved)
		memcpy(moved, address, size < room ? size : room);
	return moved;
}

/*
 * Counts as a free and an allocation. A block that stays because there is no memory for a larger
 * one is no longer tracked.
 */
SHOWN void *realloc(void *address, size_t size)
{
	if (is_early(address))
		return move_early(address, size);
	if (address)
		freed(address);
	if (!has_listeners())
		return next_realloc(address, size);
	return allocated(next_realloc(address, size), size);
}

SHOWN void *reallocarray(void *address, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(address, bytes);
}

SHOWN void free(void *address)
{
	if (is_early(address))
		return;
	freed(address);
	next_free(address);
}

SHOWN void *memalign(size_t alignment, size_t size)
{
	if (!has_listeners())
		return next_memalign(alignment, size);
	return allocated(next_memalign(alignment, size), size);
}

SHOWN void *aligned_alloc(size_t alignment, size_t size)
{
	if (!has_listeners())
		return next_aligned_alloc(alignment, size);
	return allocated(next_aligned_alloc(alignment, size), size);
}

SHOWN int posix_memalign(void **address, size_t alignment, size_t size)
{
	int code = next_posix_memalign(address, alignment, size);

	if (!code && has_listeners())
		allocated(*address, size);
	return code;
}

SHOWN void *valloc(size_t size)
{
	if (!has_listeners())
		return next_valloc(size);
	return allocated(next_valloc(size), size);
}

SHOWN void *pvalloc(size_t size)
{
	if (!has_listeners())
		return next_pvalloc(size);
	return allocated(next_pvalloc(size), size);
}

/* Reseeds; otherwise, all children would repeat their parent's random choices. */
static void on_fork(void)
{
	if (sampler.random)
		byte_sampler_begin(&sampler, sampler.random ^ (uint64_t)getpid() * BLOCK_HASH,
				   mean);
}

static double read_mean(const char *text)
{
	double value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = 10 * value + (*text - '0');
	return value >= 1 && value < 1e15 ? value : MEAN_DEFAULT;
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
	for (; environment && *environment; environment++) {
		if (strncmp(*environment, MEAN_VARIABLE, sizeof(MEAN_VARIABLE) - 1) == 0)
			mean = read_mean(*environment + sizeof(MEAN_VARIABLE) - 1);
	}
	resolve();
	pthread_atfork(NULL, NULL, on_fork);
}

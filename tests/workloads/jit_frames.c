/* SPDX-License-Identifier: MIT */
/*
 * Generates code without a frame pointer, with a false return address where its frame begins.
 * Describes its unwinding in jit-PID.dump, calls it, moves it, calls it there, and has a child call
 * it. `jit_frames MS`: before that, and after each description, spends this much CPU time, so that
 * a recorder sees the dump. `jit_frames MS kept` writes no description before its end, as CPython
 * does with data that does not fill a buffer; its times are right nevertheless.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define PAGE 4096
#define CALLS_MS 400
#define LOAD 0
#define MOVE 1
#define UNWINDING 4

/* void code(void (*callee)(void), const void *lure) */
#if defined(__x86_64__)
#define RA 16
static const uint8_t code[] = {
	0x48, 0x83, 0xec, 0x18, /* sub rsp, 24 */
	0x48, 0x89, 0x34, 0x24, /* mov [rsp], rsi */
	0xff, 0xd7, /* call rdi */
	0x48, 0x83, 0xc4, 0x18, /* add rsp, 24 */
	0xc3, /* ret */
};
/* def_cfa rsp + 8, ra at cfa - 8 */
#define CIE_PROGRAM 0x0c, 7, 8, 0x80 + RA, 1
/* At 4, def_cfa_offset 32; at 14, def_cfa_offset 8. */
#define FDE_PROGRAM 0x44, 0x0e, 32, 0x4a, 0x0e, 8, 0
#elif defined(__aarch64__)
#define RA 30
static const uint32_t code[] = {
	0xd10083ff, /* sub sp, sp, #32 */
	0xf9000ffe, /* str x30, [sp, #24] */
	0xf90003e1, /* str x1, [sp] */
	0xd63f0000, /* blr x0 */
	0xf9400ffe, /* ldr x30, [sp, #24] */
	0x910083ff, /* add sp, sp, #32 */
	0xd65f03c0, /* ret */
};
/* def_cfa sp + 0 */
#define CIE_PROGRAM 0x0c, 31, 0, 0, 0
/* At 4, def_cfa_offset 32; at 8, x30 at cfa - 8; at 24, restore it, def_cfa_offset 0. */
#define FDE_PROGRAM 0x44, 0x0e, 32, 0x44, 0x80 + RA, 1, 0x50, 0xc0 + RA, 0x0e, 0, 0
#else
#error "jit_frames is not written for this architecture"
#endif

#define CIE_SIZE 24
#define FDE_SIZE 28
#define HDR_SIZE 20

static bool keeps; /* keeps the dump back until the end */

typedef void made_fn(void (*callee)(void), const void *lure);

static void write_record(FILE *dump, uint32_t kind, const void *body, uint32_t size)
{
	const uint32_t head[] = {kind, 16 + size};
	struct timespec t = {0};
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	fwrite(head, sizeof(head), 1, dump);
	fwrite(&now, sizeof(now), 1, dump);
	fwrite(body, size, 1, dump);
}

static FILE *open_dump(void)
{
	const uint32_t head[] = {0x4a695444, 1, 40, 0, 0, (uint32_t)getpid(), 0, 0, 0, 0};
	char name[32];
	FILE *dump;

	snprintf(name, sizeof(name), "jit-%d.dump", getpid());
	dump = fopen(name, "w+");
	if (!dump)
		return NULL;
	fwrite(head, sizeof(head), 1, dump);
	fflush(dump);
	/* Recorders find the dump by this mapping. */
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return NULL;
	return dump;
}

static void write_unwinding(FILE *dump)
{
	static const uint8_t cie[CIE_SIZE] = {
		CIE_SIZE - 4, 0,   0, 0, 0,    0,  0, 0,    1,
		'z',	      'R', 0, 1, 0x78, RA, 1, 0x1b, CIE_PROGRAM};
	static const uint8_t program[FDE_SIZE - 16] = {0, FDE_PROGRAM};
	const uint32_t fde[] = {FDE_SIZE - 4, CIE_SIZE + 4,
				0u - (uint32_t)((sizeof(code) + 7) / 8 * 8 + CIE_SIZE + 8),
				sizeof(code)};
	const uint64_t size = CIE_SIZE + FDE_SIZE + 4 + HDR_SIZE;
	struct {
		uint64_t sizes[3];
		uint8_t data[CIE_SIZE + FDE_SIZE + 4 + HDR_SIZE];
	} body = {.sizes = {size, HDR_SIZE, 0}};

	memcpy(body.data, cie, CIE_SIZE);
	memcpy(body.data + CIE_SIZE, fde, sizeof(fde));
	memcpy(body.data + CIE_SIZE + sizeof(fde), program, sizeof(program));
	write_record(dump, UNWINDING, &body, (uint32_t)(sizeof(body.sizes) + size));
}

static void write_load(FILE *dump, const void *at)
{
	struct {
		uint32_t pid, tid;
		uint64_t vma, start, size, index;
		uint8_t name[5 + sizeof(code)];
	} body = {.pid = (uint32_t)getpid(),
		  .tid = (uint32_t)getpid(),
		  .vma = (uintptr_t)at,
		  .start = (uintptr_t)at,
		  .size = sizeof(code),
		  .name = "made"};

	memcpy(body.name + 5, code, sizeof(code));
	write_record(dump, LOAD, &body, 40 + sizeof(body.name));
	if (!keeps)
		fflush(dump);
}

static void write_move(FILE *dump, const void *from, const void *to)
{
	const uint64_t ids = (uint64_t)getpid() << 32 | (uint32_t)getpid();
	const uint64_t body[] = {ids,		(uintptr_t)to, (uintptr_t)from,
				 (uintptr_t)to, sizeof(code),  0};

	write_record(dump, MOVE, body, sizeof(body));
	if (!keeps)
		fflush(dump);
}

static NOINLINE void pauses(double ms)
{
	burn_ms(ms);
}

static NOINLINE void burns(void)
{
	burn_a_little();
}

static NOINLINE void calls_made(made_fn *made)
{
	uint64_t end = thread_cpu_ns() + CALLS_MS * 1000000ull;

	while (thread_cpu_ns() < end)
		made(burns, __builtin_return_address(0));
}

static NOINLINE void calls_moved(made_fn *made)
{
	calls_made(made);
	__asm__ volatile("");
}

static NOINLINE void calls_inherited(made_fn *made)
{
	calls_made(made);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	double ms = argc > 1 ? strtod(argv[1], NULL) : 0;
	uint8_t *memory = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *place = memory + 40 * PAGE + 8;
	FILE *dump = open_dump();
	pid_t child;

	keeps = argc > 2;
	if (memory == MAP_FAILED || !dump)
		return 1;
	memcpy(memory, code, sizeof(code));
	memcpy(place, code, sizeof(code));
	__builtin___clear_cache((char *)memory, (char *)memory + 64 * PAGE);
	pauses(ms);
	write_unwinding(dump);
	write_load(dump, memory);
	pauses(ms);
	calls_made((made_fn *)(uintptr_t)memory);
	write_move(dump, memory, place);
	pauses(ms);
	calls_moved((made_fn *)(uintptr_t)place);
	if (keeps)
		return 0;
	child = fork();
	if (!child) {
		calls_inherited((made_fn *)(uintptr_t)place);
		_exit(0);
	}
	return child < 0 || waitpid(child, NULL, 0) != child;
}

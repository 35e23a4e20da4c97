#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whole user stacks without frame pointers: programs of the distribution, and workloads whose true
# stacks are known.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
nofp=$workloads/nofp

# Ticks of a class, and ticks that can be whole, as Python expressions for judge().
stats_code='
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
'
is_whole() { # NAME PERCENT [SAMPLES]
	judge "$1: $2 % of the stacks are whole" "$1.json.gz" "$1.stats" "$2" "${3-200}" \
		<<<"$stats_code"'
expect(can_be_whole > int(args[2]), f"only {can_be_whole} samples")
# The copy of a stack whose tables were not ready ends where the thread changed stacks.
expect(stats["whole"] * 100 >= float(args[1]) * (can_be_whole - stats["finished_later"]), stats)'
}

# libc has no CFI from the system call that makes a thread to the return of either thread.
if [ "$(uname -m)" = x86_64 ]; then
	run "$PROF" record -F 10000 -o made.json.gz --stats made.stats -- "$workloads/short_threads" 3000 0
	judge "threads that are made: stacks are whole, without a guess" made.json.gz made.stats <<<"$stats_code"'
expect(can_be_whole > 200, stats)
expect(stats["whole"] >= 0.99 * can_be_whole and stats["guessed"] <= 0.01 * can_be_whole, stats)'
fi

# A fiber on a stack of its own, below, that switches back to the thread's stack to call C, as in
# OCaml. Its rules: the CFA is in rbx, and in memory that a word in memory leads to.
if [ "$(uname -m)" = x86_64 ]; then
	cat >fiber.c <<'TEXT'
static long stack[8192];
struct { long *sp; } parent;
volatile unsigned sink;
void run_fiber(long *);
__attribute__((noinline)) void burn(void)
{
	for (unsigned i = 0; i < 400000000; i++)
		sink = sink * 31 + i;
}
__asm__(".globl run_fiber\n"
	".type run_fiber, @function\n"
	"run_fiber:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset rbx, -16\n"
	"	lea parent(%rip), %rax\n"
	"	mov %rsp, (%rax)\n"
	"	mov %rax, 8(%rdi)\n"
	"	mov %rdi, %rsp\n"
	/* DW_CFA_def_cfa_expression: *(*(rsp + 8) + 0) + 16 */
	"	.cfi_escape 0x0f, 8, 0x77, 8, 0x06, 0x23, 0, 0x06, 0x23, 16\n"
	"	call in_fiber\n"
	"	mov parent(%rip), %rsp\n"
	"	.cfi_def_cfa rsp, 16\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size run_fiber, . - run_fiber\n"
	".type in_fiber, @function\n"
	"in_fiber:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_offset rbx, -16\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register rbx\n"
	"	mov parent(%rip), %rsp\n"
	"	call burn\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size in_fiber, . - in_fiber\n");
int main(void)
{
	run_fiber(stack + 8000);
	return 0;
}
TEXT
	gcc -O2 -o fiber fiber.c
	record fiber 0 -- ./fiber
	is_whole fiber 99
	judge "a fiber that calls C on the stack of its thread: all frames, none guessed" \
		fiber.json.gz fiber.stats <<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "burn" for f in frames)]
right = sum(names[-4:] == ["main", "run_fiber", "in_fiber", "burn"] for names in found)
expect(len(found) > 200 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")
expect(stats["guessed"] <= 0.01 * can_be_whole, stats)'
fi

# Generated code that leaves the frame pointer to its callers or uses it for other values, called by
# its address from functions with frame pointers.
if [ "$(uname -m)" = x86_64 ]; then
	cat >made.c <<'TEXT'
#include <string.h>
#include <sys/mman.h>
/*
 * push %rbx; mov $20000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbx; ret
 * caller: sub $24,%rsp; mov %rbp,8(%rsp); xor %ebp,%ebp; call *%rdi; mov 8(%rsp),%rbp; add $24,%rsp; ret
 */
static const char code[] = "\x53\xb9\x00\x2d\x31\x01\xff\xc9\x75\xfc\x5b\xc3\xcc\xcc\xcc\xcc"
			   "\x48\x83\xec\x18\x48\x89\x6c\x24\x08\x31\xed\xff\xd7"
			   "\x48\x8b\x6c\x24\x08\x48\x83\xc4\x18\xc3";
#define CALLER_AT 16
static char *page;
volatile int sink;
__attribute__((noinline)) void direct(void)
{
	((void (*)(void *))(page + CALLER_AT))(page);
	sink++;
}
void (*volatile by_address)(void) = direct;
__attribute__((noinline)) void outer(void)
{
	by_address();
	sink++;
}
int main(void)
{
	page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, sizeof(code));
	for (int i = 0; i < 60; i++)
		outer();
	return 0;
}
TEXT
	gcc -O1 -fno-omit-frame-pointer -o made made.c
	record made 0 -- ./made
	is_whole made 99
	judge "code without a frame pointer: all its callers, without a guess" \
		made.json.gz made.stats <<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "outer" for f in frames)]
right = sum(names[-5:-2] == ["main", "outer", "direct"] for names in found)
expect(len(found) > 200 and right >= 0.98 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")
expect(stats["guessed"] <= 0.01 * can_be_whole + stats["finished_later"], stats)'
fi

# A function without calls, rules or a frame pointer, in a file whose other code has frame pointers;
# its caller is called by its address.
if [ "$(uname -m)" = x86_64 ]; then
	cat >leaf.c <<'TEXT'
volatile unsigned sink;
void burn(unsigned);
__asm__(".globl burn\n"
	".type burn, @function\n"
	"burn:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"1:	dec %edi\n"
	"	jnz 1b\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n"
	".size burn, . - burn\n");
__attribute__((noipa)) void middle(unsigned n)
{
	burn(n);
	sink++;
}
void (*volatile by_address)(unsigned) = middle;
__attribute__((noipa)) void outer(void)
{
	by_address(20000000);
	sink++;
}
int main(void)
{
	for (int i = 0; i < 60; i++)
		outer();
	return 0;
}
TEXT
	gcc -O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -o leaf leaf.c
	record leaf 0 -- ./leaf
	is_whole leaf 99
	judge "a function without a frame among others with frame pointers: its caller, not guessed" \
		leaf.json.gz leaf.stats <<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "burn" for f in frames)]
right = sum(names[-4:] == ["main", "outer", "middle", "burn"] for names in found)
expect(len(found) > 200 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")
expect(stats["guessed"] <= 0.01 * can_be_whole, stats)'
fi

# A signal handler that returns to code without CFI for a signal frame, as in programs without glibc.
if [ "$(uname -m)" = x86_64 ]; then
	cat >restorer.c <<'TEXT'
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
void restorer(void);
__asm__(".globl restorer\n"
	".type restorer, @function\n"
	"restorer:\n"
	"	.cfi_startproc\n"
	"	movl $15, %eax\n"
	"	syscall\n"
	"	.cfi_endproc\n"
	".size restorer, . - restorer\n");
volatile unsigned sink;
__attribute__((noinline)) void handler(int number)
{
	for (unsigned i = 0; i < 400000000; i++)
		sink = sink * 31 + i + number;
}
__attribute__((noinline)) void outer(int depth)
{
	if (depth)
		outer(depth - 1);
	else
		syscall(SYS_kill, getpid(), SIGUSR1);
	sink++;
}
int main(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		unsigned long mask;
	} action = {handler, 0x04000000, restorer, 0};

	syscall(SYS_rt_sigaction, SIGUSR1, &action, 0, 8);
	outer(5);
	return 0;
}
TEXT
	gcc -O1 -no-pie -o restorer restorer.c
	record restorer 0 -- ./restorer
	is_whole restorer 99
	judge "a handler that returns to code without CFI: the interrupted frames" \
		restorer.json.gz restorer.stats <<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "handler" for f in frames)]
wanted = ["main", *["outer"] * 6, "syscall", "restorer", "handler"]
right = sum(names[-len(wanted):] == wanted for names in found)
expect(len(found) > 200 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")'
fi

# Code that runs on a stack of its own, leaves sp alone and has no rules, as GHC compiles Haskell:
# the function that it was entered by has the rule of its return. Assembler without rules that it
# calls is none of it.
if [ "$(uname -m)" = x86_64 ]; then
	cat >mutator.c <<'TEXT'
static long stack[8192];
void StgRun(long *);
__asm__(".type mutator, @function\n"
	"mutator:\n"
	"	movl $400000000, %ebx\n"
	"1:	add $-8, %rbp\n"
	"	lea 2f(%rip), %rax\n"
	"	mov %rax, 0(%rbp)\n"
	"	dec %rbx\n"
	"	jmp *0(%rbp)\n"
	"2:	add $8, %rbp\n"
	"	test %rbx, %rbx\n"
	"	jnz 1b\n"
	"	call assembler\n"
	"	jmp StgReturn\n"
	".size mutator, . - mutator\n"
	".globl StgRun\n"
	".type StgRun, @function\n"
	"StgRun:\n"
	"	.cfi_startproc\n"
	"	sub $16, %rsp\n"
	"	mov %rbx, (%rsp)\n"
	"	mov %rbp, 8(%rsp)\n"
	"	sub $16384, %rsp\n"
	"	.cfi_def_cfa rsp, 0\n"
	"	.cfi_offset rbx, 16384\n"
	"	.cfi_offset rbp, 16392\n"
	"	.cfi_offset rip, 16400\n"
	/* DW_CFA_val_expression: rsp = rsp + 16408 */
	"	.cfi_escape 0x16, 7, 4, 0x77, 0x98, 0x80, 0x01\n"
	"	mov %rdi, %rbp\n"
	"	jmp mutator\n"
	"StgReturn:\n"
	"	add $16384, %rsp\n"
	"	mov (%rsp), %rbx\n"
	"	mov 8(%rsp), %rbp\n"
	"	add $16, %rsp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size StgRun, . - StgRun\n"
	".type assembler, @function\n"
	"assembler:\n"
	"	movl $400000000, %eax\n"
	"1:	sub $1, %eax\n"
	"	jnz 1b\n"
	"	ret\n"
	".size assembler, . - assembler\n");
int main(void)
{
	StgRun(stack + 8000);
	return 0;
}
TEXT
	gcc -O2 -o mutator mutator.c
	record mutator 0 -- ./mutator
	is_whole mutator 99
	judge "code without rules returns by the rule of the function that it was entered by" \
		mutator.json.gz mutator.stats <<<"$stats_code"'
def under(name):
    return [[f["name"] for f in frames if f["category"] == "User"]
            for _, _, _, frames in samples() if any(f["name"] == name for f in frames)]
expect(len(under("mutator")) > 200, len(under("mutator")))
for name, callers in ("mutator", ["main"]), ("assembler", ["main", "mutator"]):
    found = under(name)
    right = sum(names[-1 - len(callers):] == [*callers, name] for names in found
                if names[-1] == name)
    leaves = sum(names[-1] == name for names in found)
    expect(leaves > 50 and right >= 0.98 * leaves - stats["finished_later"],
           f"{name}: {right} of {leaves}: {found[:1]}")'
fi

# Boost's fibers: a stack begins with the return address of code without rules that ends the program.
if [ "$(uname -m)" = x86_64 ]; then
	cat >fcontext.c <<'TEXT'
static long stack[8192];
volatile unsigned sink;
void start(void (*)(void), long *);
__attribute__((noinline)) void burn(void)
{
	for (unsigned i = 0; i < 400000000; i++)
		sink = sink * 31 + i;
}
void in_fiber(void)
{
	burn();
	sink++;
}
__asm__(".type make_fcontext, @function\n"
	"make_fcontext:\n"
	"	lea trampoline(%rip), %rcx\n"
	"	lea finish(%rip), %rbp\n"
	"	.skip 16, 0x90\n"
	"	jmp *%rcx\n"
	"trampoline:\n"
	"	push %rbp\n"
	"	jmp *%rbx\n"
	"finish:\n"
	"	xor %rdi, %rdi\n"
	"	call _exit@PLT\n"
	"	hlt\n"
	".size make_fcontext, . - make_fcontext\n"
	".globl start\n"
	".type start, @function\n"
	"start:\n"
	"	mov %rdi, %rbx\n"
	"	mov %rsi, %rsp\n"
	"	jmp make_fcontext\n"
	".size start, . - start\n");
int main(void)
{
	start(in_fiber, stack + 8000);
	return 0;
}
TEXT
	gcc -O2 -fno-optimize-sibling-calls -o fcontext fcontext.c
	record fcontext 0 -- ./fcontext
	is_whole fcontext 99
	judge "a made stack ends where it begins, none guessed" fcontext.json.gz fcontext.stats \
		<<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "burn" for f in frames)]
right = sum(names == ["make_fcontext", "in_fiber", "burn"] for names in found)
expect(len(found) > 200 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")
expect(stats["guessed"] <= 0.01 * can_be_whole, stats)'
fi

# A program that copies its code to anonymous memory in its place, as those do that want huge pages.
cat >moved.c <<'TEXT'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define MOVED __attribute__((noinline, section("moved")))
extern char __start_moved[], __stop_moved[];
volatile unsigned sink;
MOVED __attribute__((aligned(4096))) void burn(unsigned n)
{
	while (n--)
		sink = sink * 31 + n;
}
MOVED void heavy(void)
{
	burn(6000000);
}
MOVED void light(void)
{
	burn(2000000);
}
MOVED void down(int depth)
{
	if (depth)
		down(depth - 1);
	else
		for (int i = 0; i < 60; i++) {
			heavy();
			light();
		}
	sink++;
}
int main(int argc, char **argv)
{
	size_t page = (size_t)getpagesize();
	size_t size = ((size_t)(__stop_moved - __start_moved) + page - 1) & ~(page - 1);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);

	memcpy(copy, __start_moved, size);
	mmap(__start_moved, size, PROT_READ | PROT_WRITE | PROT_EXEC, flags | MAP_FIXED, -1, 0);
	memcpy(__start_moved, copy, size);
	mprotect(__start_moved, size, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(__start_moved, __start_moved + size);
	(void)argv;
	puts("moved");
	fflush(stdout);
	do
		down(20);
	while (argc > 1);
	return 0;
}
TEXT
gcc -O2 -fno-optimize-sibling-calls -o moved moved.c
moved_code="$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "burn" for f in frames)]
right = sum(names[-23:-2] == ["down"] * 21 and names[-2] in ("heavy", "light") for names in found)
heavy = sum("heavy" in names for names in found)
expect(len(found) > 50 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")
expect(0.6 < heavy / len(found) < 0.9, f"heavy: {heavy} of {len(found)}")'
record moved 0 -- ./moved
is_whole moved 99
judge "code that was copied to anonymous memory has its file's names and rules" moved.json.gz \
	moved.stats <<<"$moved_code"
./moved forever >moved.out &
pid=$!
wait_until grep -q moved moved.out
attach_for attached $pid 1000
kill $pid
judge "so has that of a process that had copied it before" attached.json.gz attached.stats \
	<<<"$moved_code"

# The first function of a context returns to the first byte of a function that none has called.
cat >contexts.c <<'TEXT'
#include <ucontext.h>
volatile unsigned sink;
static ucontext_t thread, heavy, light;
static char stacks[2][1 << 18];
__attribute__((noinline)) void burn(unsigned n)
{
	while (n--)
		sink = sink * 31 + n;
}
static void in_heavy(void)
{
	for (int i = 0; i < 60; i++) {
		burn(6000000);
		swapcontext(&heavy, &light);
	}
}
static void in_light(void)
{
	for (;;) {
		burn(2000000);
		swapcontext(&light, &heavy);
	}
}
static void make(ucontext_t *context, char *stack, void (*function)(void))
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = sizeof(stacks[0]);
	context->uc_link = &thread;
	makecontext(context, function, 0);
}
int main(void)
{
	make(&heavy, stacks[0], in_heavy);
	make(&light, stacks[1], in_light);
	swapcontext(&thread, &heavy);
	return 0;
}
TEXT
gcc -O2 -o contexts contexts.c
record contexts 0 -- ./contexts
is_whole contexts 99
judge "contexts: their stacks begin with their functions, none guessed" contexts.json.gz \
	contexts.stats <<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] == "User"]
         for _, _, _, frames in samples() if any(f["name"] == "burn" for f in frames)]
right = sum(len(names) == 3 and names[1] in ("in_heavy", "in_light") for names in found)
expect(len(found) > 200 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}: {found[:1]}")
expect(stats["guessed"] <= 0.01 * can_be_whole, stats)'

# The first function of a coroutine of libcoro's returns to the first byte of a library's function,
# behind a call of it, in a function with a large frame.
cat >ends.c <<'TEXT'
__asm__(".text\n.globl ends\n"
	".type fails, @function\nfails: .cfi_startproc\n sub $400, %rsp\n .cfi_def_cfa_offset 408\n"
	" call 1f\n .cfi_endproc\n .size fails, .-fails\n"
	".type ends, @function\nends: 1: .cfi_startproc\n push %rbx\n .cfi_def_cfa_offset 16\n ud2\n"
	" .cfi_endproc\n .size ends, .-ends\n");
TEXT
cat >coroutine.c <<'TEXT'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
volatile unsigned sink;
__attribute__((noinline)) void burn(unsigned n)
{
	while (n--)
		sink = sink * 31 + n;
}
__attribute__((noinline)) void heavy(void)
{
	burn(6000000);
	sink++;
}
void body(void)
{
	for (int i = 0; i < 60; i++)
		heavy();
	exit(0);
}
void ends(void);
void enter(void *sp, void (*function)(void));
__asm__(".text\n"
	"enter: .cfi_startproc\n mov %rdi, %rsp\n jmp *%rsi\n .cfi_endproc\n");
int main(void)
{
	size_t size = 1 << 18;
	char *stack = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void **sp = (void **)(stack + size);

	memset(stack + size, 0x55, size);
	*--sp = (void *)ends;
	enter(sp, body);
	return 1;
}
TEXT
gcc -O2 -shared -fPIC -o libends.so ends.c
gcc -O2 -o coroutine coroutine.c ./libends.so
record coroutine 0 -- ./coroutine
judge "a coroutine's stack begins with its function, not with what it never returns to" \
	coroutine.json.gz coroutine.stats <<<"$stats_code"'
found = [[f["name"] for f in frames if f["category"] in ("User", "C library")]
         for _, _, _, frames in samples() if any(f["name"] == "burn" for f in frames)]
wrong = [names for names in found if names != ["body", "heavy", "burn"]]
expect(len(found) > 100 and len(wrong) <= stats["unknown"], f"{len(wrong)} of {len(found)}: {wrong[:1]}")
expect(stats["broken"] + stats["guessed"] <= 0.01 * can_be_whole, stats)'

# Data that takes a second or two to compress.
head -c 12000000 <(cat /usr/bin/python3 /usr/bin/perl /lib/*-linux-gnu/libc.so.6 /usr/bin/bash) >data

# A whole stack ends where the kernel or clone() started the thread. Main threads start at the
# program's entry, or at that of the dynamic linker, which runs first.
ends_at_entry() { # NAME PROGRAM
	judge "$1: whole stacks end in _start" "$1.json.gz" "$1.stats" "$2" <<<"$stats_code"'
import os
import struct
def entry(path):
    data = open(path, "rb").read(65536)
    start, at = struct.unpack_from("<QQ", data, 24)
    size, count = struct.unpack_from("<HH", data, 54)
    loads = [struct.unpack_from("<IIQQ", data, at + i * size) for i in range(count)]
    return start - next(vaddr for kind, _, _, vaddr in loads if kind == 1)
program = os.path.realpath(args[1])
start = entry(program)
main = next(t for t in p["threads"] if t["isMainThread"])
found = [frames for _, _, _, frames in samples(main) if frames and frames[0]["category"] == "User"]
at_entry = in_linker = 0
for frames in found:
    root = frames[0]
    if root["lib"] == os.path.basename(program) and root["address"] is not None:
        at_entry += 0 <= root["address"] - start < 64
    elif root["lib"].startswith("ld-"):
        in_linker += 1
expect(at_entry + in_linker >= 0.99 * len(found),
       f"{at_entry} in {program}, {in_linker} in the linker, of {len(found)}")
expect(at_entry > 0.9 * len(found), f"{at_entry} of {len(found)}, {in_linker} in the linker")'
}
program() { # NAME PATH ARGUMENT...
	local name=$1
	record "$name" 0 -- "${@:2}"
	is_whole "$name" 99
	ends_at_entry "$name" "$2"
}
program python /usr/bin/python3 -c 'import re, time
while time.process_time() < 0.7: re.sub("[aeiou]+", lambda m: m[0].upper(), "the quick brown fox " * 500)'
program gzip /usr/bin/gzip -9 -k -f data
program xz /usr/bin/xz -T1 -3 -k -f data
# shellcheck disable=SC2016 # for perl
program perl /usr/bin/perl -e 'my %h;
do { $h{$_ % 5000} .= chr($_ & 127) for 1..100000; sort keys %h } until times > 0.6'
program zstd /usr/bin/zstd -q --single-thread -15 -k -f data

record threads 0 -- "$nofp/threads" 1
is_whole threads 99
judge "threads: from where clone() let them begin, by start_thread" threads.json.gz <<'CODE'
for name, function in (("worker-a", "work_a"), ("worker-b", "work_b")):
    found = [frames for _, _, _, frames in samples(thread(name))
             if any(f["name"] == function for f in frames)]
    right = sum([f["lib"][:4] for f in frames[:2]] == ["libc"] * 2 and frames[2]["name"] == function
                for frames in found)
    expect(len(found) > 200 and right >= 0.99 * len(found), f"{name}: {right} of {len(found)}")
CODE

# Samples from before a table was ready come as copies of stack; they count as finished later. Their
# number depends on the machine.
record deep 0 -- "$nofp/recursion" 600
judge "600 calls deep: the stacks are whole" deep.json.gz deep.stats <<<"$stats_code"'
expect(can_be_whole > 200, f"only {can_be_whole} samples")
expect(stats["finished_later"] < 0.5 * can_be_whole, stats)
expect(stats["whole"] >= 0.99 * can_be_whole - stats["finished_later"], stats)'
judge "600 calls deep: each of them" deep.json.gz deep.stats <<<"$stats_code"'
found = [[f["name"] for f in frames] for _, _, _, frames in samples(thread("recursion"))
         if any(f["name"] == "bottom" for f in frames)]
right = sum(names.count("recurse") == 600 and "main" in names for names in found)
expect(len(found) > 150 and right >= 0.99 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}, {stats}")'

record deeper 0 -- "$nofp/recursion" 5000
judge "5000 calls deep: its innermost 1000 frames and more, and known to be cut off" \
	deeper.json.gz deeper.stats <<<"$stats_code"'
found = [[f["name"] for f in frames] for _, _, _, frames in samples(thread("recursion"))
         if any(f["name"] == "bottom" for f in frames)]
right = sum(names.count("recurse") >= 990 and "main" not in names for names in found)
expect(len(found) > 150 and right >= 0.97 * len(found) - stats["finished_later"],
       f"{right} of {len(found)}, {stats}")
expect(stats["truncated"] >= 0.97 * len(found), stats)'

handled() { # NAME
	is_whole "$1" 99
	judge "$1: through the handler and its trampoline to what it interrupted" "$1.json.gz" <<'CODE'
found = [frames for _, _, _, frames in samples(thread("handler"))
         if any(f["name"] == "in_handler" for f in frames)]
right = 0
for frames in found:
    # The burning code is inlined: each function counts only itself.
    frames = [f for f in frames if f["inlineDepth"] == 0]
    names = [f["name"] for f in frames]
    at = names.index("main") if "main" in names else 0
    right += (names[at:at + 2] == ["main", "interrupted"] and
              names[at + 3:at + 5] == ["on_signal", "in_handler"] and
              frames[at + 2]["lib"] in ("libc.so.6", "[vdso]"))
expect(len(found) > 150 and right >= 0.99 * len(found), f"{right} of {len(found)}")
CODE
}
record handler 0 -- "$nofp/handler"
handled handler
record alternate 0 -- "$nofp/handler" alt
handled alternate

cp "$nofp/fork_exec" other-name
record fork 0 -- "$nofp/fork_exec" ./other-name
is_whole fork 99
judge "fork and exec: whole from the first sample on, in the child as well" fork.json.gz <<'CODE'
for name, function in (("fork_exec", "parent_work"), ("only-forked", "forked_work"),
                       ("other-name", "executed_work")):
    found = [[f["name"] for f in frames] for _, _, _, frames in samples(thread(name))
             if any(f["name"] == function for f in frames)]
    right = sum("main" in names[:4] for names in found)
    expect(len(found) > 100 and right >= 0.99 * len(found), f"{name}: {right} of {len(found)}")
CODE

# Greenlets copy stacks: callers of the function that begins one are those of any.
cat >greenlet.c <<'CODE'
void _ZN8greenlet12UserGreenlet13g_initialstubEPv(void (*run)(void))
{
	run();
	__asm__ volatile("");
}
CODE
cat >greenlets.c <<'CODE'
#include <time.h>
void _ZN8greenlet12UserGreenlet13g_initialstubEPv(void (*run)(void));
static volatile unsigned int sink;
static void burn(void)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		for (unsigned int i = 0; i < 10000; i++)
			sink += i;
}
int main(void)
{
	_ZN8greenlet12UserGreenlet13g_initialstubEPv(burn);
	return 0;
}
CODE
gcc -O1 -shared -fPIC -o libgreenlet.so greenlet.c
gcc -O1 -o greenlets greenlets.c -L. -lgreenlet -Wl,-rpath,"$PWD"
record greenlets 0 -- ./greenlets
judge "the stack of a greenlet ends, whole, where it begins" greenlets.json.gz greenlets.stats <<CODE
$stats_code
found = [[f["name"] for f in frames] for _, _, _, frames in samples(thread("greenlets"))
         if any(f["name"] == "burn" for f in frames)]
right = sum("initialstub" in names[0] for names in found)
expect(len(found) > 100 and right == len(found), f"{right} of {len(found)}")
expect(stats["whole"] >= 0.99 * can_be_whole, stats)
CODE

# Copies of a file that cannot be confused: each has its own build id.
copies() { # FILE COUNT PATTERN
	python3 - "$@" <<'CODE'
import os
import struct
import sys
data = open(sys.argv[1], "rb").read()
at = data.index(struct.pack("<III", 4, 20, 3) + b"GNU\0") + 16
for i in range(int(sys.argv[2])):
    name = sys.argv[3] % i
    open(name, "wb").write(data[:at] + bytes([i] * 20) + data[at + 20:])
    os.chmod(name, 0o755)
CODE
}
mkdir programs libraries
copies "$nofp/recursion" 30 programs/recursion%02d
copies "$workloads/library.so" 40 libraries/lib%02d.so

# shellcheck disable=SC2016 # for sh
record new 0 -F 4999 -- sh -c 'for p in programs/*; do "$p" 100 8 large || exit; done'
judge "50 kB of stack of 30 new programs: copied whole" new.json.gz new.stats <<<"$stats_code"'
expect(can_be_whole > 500, f"only {can_be_whole} samples")
expect(stats["finished_later"] >= 10, stats)
expect(stats["truncated"] <= 0.01 * can_be_whole and stats["whole"] >= 0.9 * can_be_whole, stats)'

loaded() { # NAME
	is_whole "$1" 99 3500
	judge "$1: each of 40 libraries, one after the other, called from main" "$1.json.gz" <<'CODE'
found = [frames for _, _, _, frames in samples(thread("dlopen"))
         if any(f["name"] == "library_work" for f in frames)]
order = [next(f["lib"] for f in frames if f["name"] == "library_work") for frames in found]
expect(order == sorted(order), "libraries not in order")
for i in range(40):
    count = order.count(f"lib{i:02}.so")
    expect(50 < count, f"lib{i:02}.so: {count} samples")
# More, if the host has taken the CPU away: ticks count that time, the thread's clock does not.
expect(3800 < len(found) < 8000, f"{len(found)} samples in libraries")
right = 0
for frames in found:
    names = [f["name"] for f in frames if f["inlineDepth"] == 0]
    at = names.index("library_work")
    right += names[at - 2:at + 2] == ["main", "run_library", "library_work", "library_inner"]
expect(right >= 0.99 * len(found), f"{right} of {len(found)}")
CODE
}
record keep 0 -- "$nofp/dlopen" keep 100 libraries/*.so
loaded keep
record close 0 -- "$nofp/dlopen" close 100 libraries/*.so
loaded close

done_testing

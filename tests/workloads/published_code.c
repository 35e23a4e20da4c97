/* SPDX-License-Identifier: MIT */
/*
 * Publishes code to debuggers, by gdb's "JIT Compilation Interface", as a compiler in a program
 *does: `published_code OBJECT MS [loop|huge|many]` places the code of a relocatable object, whose
 *first function is `void made(void (*callee)(void), const void *lure)`, publishes the object,
 *spends this much CPU time so that a recorder sees it, and calls the code. What else is published:
 *
 *	loop	an entry whose next one is the first
 *	huge	an object of 2 GB
 *	many	100,000 objects without code, after the first
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/workloads/burn.h"

#define CALLS_MS 400
#define MANY 100000

struct jit_code_entry {
	struct jit_code_entry *next, *previous;
	const void *object;
	uint64_t size;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_code_entry *relevant, *first;
};

struct jit_descriptor __jit_debug_descriptor = {.version = 1};
extern void __jit_debug_register_code(void);
NOINLINE void __jit_debug_register_code(void)
{
	__asm__ volatile("");
}

typedef void made_fn(void (*callee)(void), const void *lure);

static void publish(struct jit_code_entry *entry, const void *object, uint64_t size)
{
	*entry = (struct jit_code_entry){
		.next = __jit_debug_descriptor.first, .object = object, .size = size};
	if (entry->next)
		entry->next->previous = entry;
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = entry;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}

static uint8_t *read_object(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	uint8_t *data = malloc(1 << 20);

	*size = file && data ? fread(data, 1, 1 << 20, file) : 0;
	return data;
}

/* Copies the sections of code, and notes their addresses in the object. */
static void *place(uint8_t *object)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)object;
	Elf64_Shdr *sections = (Elf64_Shdr *)(object + head->e_shoff);
	uint8_t *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	size_t used = 0;

	for (int i = 0; i < head->e_shnum; i++) {
		if (!(sections[i].sh_flags & SHF_EXECINSTR) || !sections[i].sh_size)
			continue;
		memcpy(memory + used, object + sections[i].sh_offset, sections[i].sh_size);
		sections[i].sh_addr = (uintptr_t)memory + used;
		used += (sections[i].sh_size + 63) & ~63ull;
	}
	mprotect(memory, 1 << 16, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)memory, (char *)memory + (1 << 16));
	return memory;
}

static void publish_more(const char *what)
{
	static struct jit_code_entry one, many[MANY];
	static const Elf64_Ehdr empty = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
					 .e_shentsize = sizeof(Elf64_Shdr)};

	for (int i = 0; strcmp(what, "many") == 0 && i < MANY; i++)
		publish(&many[i], &empty, sizeof(empty));
	if (strcmp(what, "huge") == 0)
		publish(&one, &empty, 2ull << 30);
	if (strcmp(what, "loop") == 0) {
		publish(&one, &empty, sizeof(empty));
		one.next->next = &one;
	}
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

int main(int argc, char **argv)
{
	static struct jit_code_entry entry;
	uint8_t *object;
	size_t size;
	void *code;

	if (argc < 3)
		return 1;
	object = read_object(argv[1], &size);
	if (!size)
		return 1;
	code = place(object);
	publish(&entry, object, size);
	publish_more(argc > 3 ? argv[3] : "");
	pauses(strtod(argv[2], NULL));
	calls_made((made_fn *)(uintptr_t)code);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * false_php MODE [SECONDS]: no PHP, but a program with the structures of 8.2, which burns below a
 * function of the interpreter's name. MODE says what is wrong with them:
 *   honest    nothing: one function, "honest", at line 7 of /honest.php
 *   cycle     frames without end, each its own caller, and texts that are functions
 *   long      2,000 frames of as many functions
 *   lengths   texts and code that claim to have gigabytes
 *   wild      pointers to nowhere, into the kernel and into the middle of things
 *   changing  another thread changes all of it, again and again
 *   unused    none: the page of the interpreter's variables is not there
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/workloads/burn.h"
#include "tests/workloads/random_word.h"

#if defined(__x86_64__)
const char php_header[] = "X-Powered-By: PHP/8.2.1";

#define FRAMES 2000
#define OPS 16
#define FRAME_TOP (1 << 17)

struct op {
	uint64_t handler;
	uint32_t operands[4], line, opcode;
};

struct function {
	uint64_t type, name, class, words[7];
	uint32_t count, padding;
	uint64_t code, more[7], file;
	uint32_t first_line, last_line;
	uint64_t end[3];
};

struct frame {
	uint64_t op, call, result, function, this;
	uint32_t flags, arguments;
	uint64_t outer, end[3];
};

struct text {
	uint32_t references, type;
	uint64_t hash, length;
	char characters[24];
};

_Static_assert(offsetof(struct function, count) == 80 && offsetof(struct function, code) == 88 &&
		       offsetof(struct function, file) == 152 &&
		       offsetof(struct frame, flags) == 40 && offsetof(struct frame, outer) == 48 &&
		       sizeof(struct op) == 32,
	       "the layout of 8.2");

/* One page. */
_Alignas(4096) uint64_t executor_globals[512];
static uint64_t *const innermost = &executor_globals[61];

/* All that the other thread changes. */
static struct {
	struct text name, path;
	struct function function;
	struct op ops[OPS];
	struct frame frame;
} heap;

static struct frame frames[FRAMES];
static struct function functions[FRAMES];

#define ADDRESS(object) ((uint64_t)(uintptr_t)(object))

/* Their code tells where things are. It never runs. */
__asm__(".text\n.globl zend_is_executing\n.type zend_is_executing, @function\nzend_is_executing:\n"
	"lea executor_globals(%rip), %rax\n cmpq $0, 488(%rax)\n setne %al\n ret\n"
	".size zend_is_executing, . - zend_is_executing\n"
	".globl zend_get_executed_filename_ex\n.type zend_get_executed_filename_ex, @function\n"
	"zend_get_executed_filename_ex:\n mov 24(%rax), %rdx\n mov 152(%rdx), %rax\n ret\n"
	".size zend_get_executed_filename_ex, . - zend_get_executed_filename_ex\n");

static void set_text(struct text *text, const char *characters)
{
	*text = (struct text){.references = 1, .type = 6, .length = strlen(characters)};
	memcpy(text->characters, characters, strlen(characters));
}

static void set_up(void)
{
	set_text(&heap.name, "honest");
	set_text(&heap.path, "/honest.php");
	for (size_t i = 0; i < OPS; i++)
		heap.ops[i].line = 7;
	heap.function = (struct function){.type = 2,
					  .name = ADDRESS(&heap.name),
					  .count = OPS,
					  .code = ADDRESS(heap.ops),
					  .file = ADDRESS(&heap.path),
					  .first_line = 5};
	heap.frame = (struct frame){.op = ADDRESS(&heap.ops[3]),
				    .function = ADDRESS(&heap.function),
				    .flags = FRAME_TOP};
	*innermost = ADDRESS(&heap.frame);
}

static void *change(void *unused)
{
	for (;;) {
		if (change_word(&heap, sizeof(heap)) % 29 == 0)
			set_up();
	}
	return unused;
}

static void make_long(void)
{
	for (size_t i = 0; i < FRAMES; i++) {
		functions[i] = heap.function;
		functions[i].first_line = (uint32_t)i;
		frames[i] = heap.frame;
		frames[i].function = ADDRESS(&functions[i]);
		frames[i].flags = i ? 0 : FRAME_TOP;
		frames[i].outer = i ? ADDRESS(&frames[i - 1]) : 0;
	}
	*innermost = ADDRESS(&frames[FRAMES - 1]);
}

static const char *mode = "honest";
static double seconds = 0.5;

static void make_lies(void)
{
	if (strcmp(mode, "cycle") == 0) {
		heap.frame.outer = ADDRESS(&heap.frame);
		heap.frame.flags = 0;
		heap.function.name = heap.function.file = ADDRESS(&heap.function);
	} else if (strcmp(mode, "long") == 0) {
		make_long();
	} else if (strcmp(mode, "lengths") == 0) {
		heap.name.length = (1u << 30) - 1;
		heap.path.length = INT64_MAX;
		heap.function.count = UINT32_MAX;
	} else if (strcmp(mode, "wild") == 0) {
		heap.function.class = 0xffff800000000000;
		heap.function.file = 0xffffffffff600000;
		heap.frame.op = 9;
		heap.frame.outer = 0xffffffff81000001;
	} else if (strcmp(mode, "unused") == 0 &&
		   munmap(executor_globals, sizeof(executor_globals)) != 0) {
		exit(1);
	}
}

__attribute__((noinline)) void execute_ex(struct frame *frame);

void execute_ex(struct frame *frame)
{
	pthread_t changer;

	make_lies();
	if (strcmp(mode, "changing") == 0 && pthread_create(&changer, NULL, change, NULL) != 0)
		exit(1);
	burn_ms(1000 * seconds);
	frame->op = 0;
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : mode;
	seconds = argc > 2 ? strtod(argv[2], NULL) : seconds;
	set_up();
	execute_ex(&heap.frame);
	return 0;
}
#else
/* PHP is followed on x86-64 alone. */
int main(void)
{
	burn_ms(500);
	return 0;
}
#endif

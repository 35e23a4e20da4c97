/* SPDX-License-Identifier: MIT */
/*
 * false_ruby MODE [SECONDS]: no Ruby, but a program with the structures of 3.1, which burns below a
 * C frame with the tag of a call of the interpreter. MODE says what is wrong with them:
 *   honest    nothing: one method, "honest", at line 7 of /honest.rb
 *   cycle     tags and texts that lead to themselves, control frames without end
 *   long      2,000 frames of as many methods
 *   lengths   texts, stacks and code that claim to have gigabytes
 *   wild      pointers to nowhere, into the kernel and into the middle of things
 *   changing  another thread changes all of it, again and again
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/workloads/burn.h"
#include "tests/workloads/random_word.h"

#if defined(__x86_64__)
const char ruby_version[] = "3.1.2";

#define UNDEFINED 0x34
#define FRAMES 2000

struct tag {
	uint64_t tag, value, frame, label, sp, more[2], outer, state;
};

struct context {
	uint64_t stack, size, frame, tag, words[2], thread;
};

struct control_frame {
	uint64_t pc, sp, iseq, self, env, block, words[2];
};

struct text {
	uint64_t flags, class, length, text, shared;
};

struct iseq {
	uint64_t flags, wrapper, body;
};

struct line_row {
	uint32_t line, node, events;
};

struct body {
	uint32_t type, size;
	uint64_t code, parameters[6], path, base_label, label, first_line, place[3];
	uint64_t rows, positions, count, index;
};

_Static_assert(offsetof(struct body, path) == 64 && offsetof(struct body, rows) == 120 &&
		       offsetof(struct context, thread) == 48 && sizeof(struct control_frame) == 64,
	       "the layout of 3.1");

/* As in the interpreter's library: a variable of each thread, and the words that lead to it. */
static __thread struct context *current;
uint64_t false_index[2];

/* All that the other thread changes. */
static struct {
	struct context context;
	struct text name, path;
	struct iseq iseq;
	struct body body;
	struct line_row row;
	uint64_t index[6];
	uint64_t code[64];
	uint64_t env[3]; /* its last word has the flags */
} heap;

static struct {
	uint64_t values[64];
	struct control_frame frames[FRAMES + 2];
} stack;
static struct body bodies[FRAMES];
static struct iseq iseqs[FRAMES];
static uint64_t dummy[3] = {0, 0, 0x7999002f};
static uint64_t inner[3] = {0, 0, 0x11110003};

#define ADDRESS(object) ((uint64_t)(uintptr_t)(object))

/* Its code tells where the variable is. It never runs. */
__asm__(".text\n.globl rb_thread_current\n.type rb_thread_current, @function\nrb_thread_current:\n"
	"data16 lea false_index(%rip), %rdi\n.byte 0x66, 0x66, 0x48\n call rb_thread_current\n"
	"mov (%rax), %rax\n mov 48(%rax), %rax\n mov 16(%rax), %rax\n ret\n"
	".size rb_thread_current, . - rb_thread_current\n");

/* The program is the first of the modules that the C library keeps such variables for. */
static void find_variable(void)
{
	uint64_t *thread_pointer, *vector;

	__asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
	vector = (uint64_t *)thread_pointer[1];
	false_index[0] = 1;
	false_index[1] = ADDRESS(&current) - vector[2];
}

static void set_text(struct text *text, const char *characters)
{
	*text = (struct text){
		.flags = 5 | 1 << 13, .length = strlen(characters), .text = ADDRESS(characters)};
}

static void set_frames(size_t count)
{
	size_t last = FRAMES + 1;

	stack.frames[last] = (struct control_frame){.env = ADDRESS(&dummy[2])};
	for (size_t i = 0; i < count; i++) {
		stack.frames[last - 1 - i] = (struct control_frame){
			.pc = ADDRESS(&heap.code[4]),
			.iseq = ADDRESS(count > 1 ? &iseqs[i] : &heap.iseq),
			.env = ADDRESS(i ? &inner[2] : &heap.env[2]),
		};
	}
	heap.context.stack = ADDRESS(&stack);
	heap.context.size = sizeof(stack) / 8;
	heap.context.frame = ADDRESS(&stack.frames[last - count]);
}

static void set_up(void)
{
	set_text(&heap.name, "honest");
	set_text(&heap.path, "/honest.rb");
	heap.iseq = (struct iseq){0x701a, 0, ADDRESS(&heap.body)};
	heap.row.line = 7;
	for (size_t i = 0; i < 6; i++)
		heap.index[i] = 0x0102040810204081; /* each place is of the first row */
	heap.body = (struct body){.size = 16,
				  .code = ADDRESS(heap.code),
				  .path = ADDRESS(&heap.path),
				  .base_label = ADDRESS(&heap.name),
				  .label = ADDRESS(&heap.name),
				  .first_line = 7 << 1 | 1,
				  .rows = ADDRESS(&heap.row),
				  .count = 1,
				  .index = ADDRESS(heap.index)};
	heap.env[2] = 0x11110023;
	set_frames(1);
}

static void *change(void *tag)
{
	for (;;) {
		if (change_word(&heap, sizeof(heap)) % 29)
			continue;
		set_up();
		heap.context.tag = ADDRESS(tag);
	}
	return NULL;
}

static const char *mode = "honest";
static double seconds = 0.5;

static void make_lies(struct tag *tag)
{
	if (strcmp(mode, "cycle") == 0) {
		tag->outer = ADDRESS(tag);
		heap.name.text = heap.path.text = ADDRESS(&heap.name);
		heap.env[2] = 0x11110003;
		memset(stack.frames, 0, sizeof(stack.frames));
		set_frames(1);
	} else if (strcmp(mode, "lengths") == 0) {
		heap.name.length = heap.path.length = INT64_MAX;
		heap.body.size = UINT32_MAX;
		heap.body.count = UINT64_MAX;
	} else if (strcmp(mode, "wild") == 0) {
		stack.frames[FRAMES].env = 0xffffffff81000000;
		heap.body.path = 0xffffffffff600000;
		heap.body.label = 9;
		tag->outer = 0xffff800000000000;
	}
}

/*
 * Has the code that the interpreter's tags lead to: a C frame with a tag, and a call of what runs
 * the loop.
 */
__attribute__((noinline)) void rb_vm_exec(struct context *context, size_t count);

__attribute__((noinline)) static void run(struct tag *tag)
{
	pthread_t changer;

	make_lies(tag);
	if (strcmp(mode, "changing") == 0 && pthread_create(&changer, NULL, change, tag) != 0)
		exit(1);
	burn_ms(1000 * seconds);
	exit(0);
}

void rb_vm_exec(struct context *context, size_t count)
{
	struct tag tag = {.tag = UNDEFINED, .outer = context->tag};
	void *label = &&go_on;

	__asm__ volatile("" : "+r"(label));
	tag.label = ADDRESS(label);
	context->tag = ADDRESS(&tag);
	if (context->frame)
		run(&tag);
	__asm__ goto("" : : : : go_on);
go_on:
	context->tag = tag.outer;
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : mode;
	seconds = argc > 2 ? strtod(argv[2], NULL) : seconds;
	set_up();
	current = &heap.context;
	find_variable();
	if (strcmp(mode, "long") == 0) {
		for (size_t i = 0; i < FRAMES; i++) {
			bodies[i] = heap.body;
			bodies[i].size = 16 + (uint32_t)i;
			iseqs[i] = (struct iseq){0x701a, 0, ADDRESS(&bodies[i])};
		}
		set_frames(FRAMES);
	}
	rb_vm_exec(&heap.context, 0);
	return 0;
}
#else
/* Ruby is followed on x86-64 alone. */
int main(void)
{
	burn_ms(500);
	return 0;
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * false_perl MODE [SECONDS]: no Perl, but a program with the structures of 5.36 without threads,
 * which burns below the loop that runs code. MODE says what is wrong with them:
 *   honest    nothing: one sub, "honest", at line 7 of /honest.pl
 *   cycle     stacks of contexts that lead to themselves, names that are their own
 *   long      2,000 frames of as many subs
 *   lengths   texts and stacks that claim to have gigabytes
 *   wild      pointers to nowhere, into the kernel and into the middle of things
 *   changing  another thread changes all of it, again and again
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/workloads/burn.h"
#include "tests/workloads/random_word.h"

#define FRAMES 2000
#define ADDRESS(object) ((uint64_t)(uintptr_t)(object))

struct stack_info {
	uint64_t stack, contexts, outer, inner;
	int32_t last, max, sub, type;
};

struct context {
	uint8_t type, wants;
	uint16_t kind;
	int32_t saved;
	uint64_t sp, cop, match, floor, before, after;
	uint64_t sub, array, code, depth[3];
};

struct key {
	uint32_t hash;
	int32_t length;
	char text[24];
};

struct value {
	uint64_t body;
	uint32_t count, flags;
	uint64_t rest;
};

struct statement {
	uint64_t next, sibling, function, bits;
	uint32_t reserved, line;
	uint64_t package, file;
};

struct code {
	uint64_t head[4], package, start, root, glob, file, pads, outside;
	uint32_t sequence, flags;
};

struct glob {
	uint64_t head[4], name, package;
};

struct package {
	uint64_t head[4], name, words[2];
	uint32_t iterator, names;
};

_Static_assert(sizeof(struct context) == 104 && sizeof(struct statement) == 56, "as in 5.36");

/* Variables that the interpreter exports. */
struct stack_info *PL_curstackinfo;
struct statement *PL_curcop;
void *PL_curinterp;
const uint8_t PL_version = 36;

/* All that the other thread changes. */
static struct {
	struct stack_info info;
	struct context context;
	struct statement statement;
	struct value code_head, glob_head, file_head, package_head;
	struct code code;
	struct glob glob, file;
	struct package package;
	struct key name, path, package_name;
} heap;

static struct context contexts[FRAMES];
static struct value heads[FRAMES];
static struct code codes[FRAMES];

static void set_key(struct key *key, const char *text)
{
	key->length = (int32_t)strlen(text);
	strncpy(key->text, text, sizeof(key->text) - 1);
}

static void set_up(void)
{
	set_key(&heap.name, "honest");
	set_key(&heap.path, "_</honest.pl");
	set_key(&heap.package_name, "main");
	heap.package = (struct package){.name = ADDRESS(&heap.package_name)};
	heap.package_head = (struct value){ADDRESS(&heap.package), 1, 12 | 1 << 25, 0};
	heap.glob = (struct glob){.name = ADDRESS(&heap.name),
				  .package = ADDRESS(&heap.package_head)};
	heap.glob_head = (struct value){ADDRESS(&heap.glob), 1, 9, 0};
	heap.file = (struct glob){.name = ADDRESS(&heap.path)};
	heap.file_head = (struct value){ADDRESS(&heap.file), 1, 9, 0};
	heap.statement =
		(struct statement){.function = 1, .line = 7, .file = ADDRESS(&heap.file_head)};
	heap.code = (struct code){
		.start = ADDRESS(&heap.statement),
		.glob = ADDRESS(&heap.glob_head),
		.file = ADDRESS("/honest.pl"),
	};
	heap.code_head = (struct value){ADDRESS(&heap.code), 1, 13, 0};
	heap.context = (struct context){
		.type = 9, .cop = ADDRESS(&heap.statement), .code = ADDRESS(&heap.code_head)};
	heap.info = (struct stack_info){.contexts = ADDRESS(&heap.context), .type = 1};
	PL_curstackinfo = &heap.info;
	PL_curcop = &heap.statement;
}

static void *change(void *unused)
{
	for (;;) {
		if (change_word(&heap, sizeof(heap)) % 29 == 0)
			set_up();
	}
	return NULL;
}

static void make_many(void)
{
	for (size_t i = 0; i < FRAMES; i++) {
		codes[i] = heap.code;
		codes[i].root = i + 1;
		heads[i] = (struct value){ADDRESS(&codes[i]), 1, 13, 0};
		contexts[i] = heap.context;
		contexts[i].after = i > 0;
		contexts[i].code = ADDRESS(&heads[i]);
	}
	heap.info.contexts = ADDRESS(contexts);
	heap.info.last = heap.info.sub = FRAMES - 1;
}

static void make_lies(const char *mode)
{
	if (strcmp(mode, "cycle") == 0) {
		heap.info.outer = ADDRESS(&heap.info);
		heap.package.names = 1;
		heap.package.name = ADDRESS(&heap.package.name);
		heap.code.file = ADDRESS(&heap.code.file);
		heap.context.after = 1;
	} else if (strcmp(mode, "lengths") == 0) {
		heap.name.length = heap.path.length = INT32_MAX;
		heap.info.last = heap.info.max = INT32_MAX;
	} else if (strcmp(mode, "wild") == 0) {
		heap.glob_head.body = 0xffffffff81000000;
		heap.code_head.body = 0xffff800000000000;
		heap.statement.file = heap.code.file = 9;
		heap.info.outer = 0xffffffffff600000;
	} else if (strcmp(mode, "long") == 0) {
		make_many();
	}
}

/* The loop that runs code. */
__attribute__((noinline)) int Perl_runops_standard(double ms);

int Perl_runops_standard(double ms)
{
	burn_ms(ms);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "honest";
	pthread_t changer;

	set_up();
	make_lies(mode);
	if (strcmp(mode, "changing") == 0 && pthread_create(&changer, NULL, change, NULL) != 0)
		return 1;
	return Perl_runops_standard(1000 * (argc > 2 ? strtod(argv[2], NULL) : 0.5));
}

/* SPDX-License-Identifier: MIT */
/*
 * false_r MODE [SECONDS]: no R, but a program with the structures of 4.2, which burns in the loop
 * for bytecode. MODE says what is wrong with them:
 *   honest    nothing: one function, "honest", at line 7 of /honest.R
 *   inline    nothing: the context is in memory of the loop's, as from 4.4 on
 *   cycle     contexts and lists that lead to themselves, names that are their own
 *   long      2,000 contexts of as many functions
 *   lengths   texts and tables that claim to have gigabytes
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

/* The numbers of types. */
enum {
	SYMBOL = 1,
	LIST,
	CLOSURE,
	ENVIRONMENT,
	CALL = 6,
	CHARS = 9,
	INTEGERS = 13,
	STRINGS = 16,
	VECTOR = 19
};

struct context {
	uint64_t outer, type, jump[25], tops, arguments, function, parent, call, rest[8], loop,
		more[7];
};

/* A list, a symbol, a closure. */
struct node {
	uint64_t type, attributes, next, previous, words[3];
};

struct vector {
	uint64_t type, attributes, next, previous, length, other;
	union {
		uint64_t words[4];
		char text[32];
	};
};

_Static_assert(offsetof(struct context, call) == 248 && offsetof(struct context, loop) == 320,
	       "as in 4.2");

/* Variables that the interpreter exports. */
struct context *R_GlobalContext;
struct node *R_SrcrefSymbol, *R_DoubleColonSymbol, *R_TripleColonSymbol, *R_DollarSymbol,
	*R_Bracket2Symbol;

/* All that the other thread changes. */
static struct {
	struct node call, symbol, closure, attribute, source, file, place, variable, place_list;
	struct vector name, lines, table, path, path_list, file_name;
} heap;

static struct node calls[FRAMES], symbols[FRAMES];
static struct context inline_context;

static void set_text(struct vector *chars, const char *text)
{
	chars->type = CHARS;
	chars->length = strlen(text);
	strncpy(chars->text, text, sizeof(chars->text) - 1);
}

static void set_up(struct context *context)
{
	set_text(&heap.name, "honest");
	heap.symbol = (struct node){.type = SYMBOL, .words = {ADDRESS(&heap.name)}};
	heap.call = (struct node){.type = CALL, .words = {ADDRESS(&heap.symbol)}};
	set_text(&heap.path, "/honest.R");
	heap.path_list =
		(struct vector){.type = STRINGS, .length = 1, .words = {ADDRESS(&heap.path)}};
	set_text(&heap.file_name, "filename");
	heap.file = (struct node){.type = SYMBOL, .words = {ADDRESS(&heap.file_name)}};
	heap.variable = (struct node){.type = LIST,
				      .words = {ADDRESS(&heap.path_list), 0, ADDRESS(&heap.file)}};
	heap.table =
		(struct vector){.type = VECTOR, .length = 1, .words = {ADDRESS(&heap.variable)}};
	heap.place = (struct node){.type = ENVIRONMENT, .words = {0, 0, ADDRESS(&heap.table)}};
	heap.place_list = (struct node){.type = LIST, .words = {ADDRESS(&heap.place)}};
	heap.lines = (struct vector){.type = INTEGERS,
				     .attributes = ADDRESS(&heap.place_list),
				     .length = 8,
				     .words = {7}};
	heap.source = (struct node){.type = SYMBOL};
	R_SrcrefSymbol = &heap.source;
	heap.attribute = (struct node){.type = LIST,
				       .words = {ADDRESS(&heap.lines), 0, ADDRESS(&heap.source)}};
	heap.closure = (struct node){.type = CLOSURE, .attributes = ADDRESS(&heap.attribute)};
	*context = (struct context){
		.type = 12, .function = ADDRESS(&heap.closure), .call = ADDRESS(&heap.call)};
	R_GlobalContext = context;
}

static void *change(void *context)
{
	for (;;) {
		if (change_word(&heap, sizeof(heap)) % 29 == 0)
			set_up(context);
	}
	return NULL;
}

static void make_many(struct context *contexts)
{
	for (size_t i = 0; i < FRAMES; i++) {
		symbols[i] = heap.symbol;
		calls[i] = heap.call;
		calls[i].words[0] = ADDRESS(&symbols[i]);
		contexts[i] = contexts[0];
		contexts[i].call = ADDRESS(&calls[i]);
		contexts[i].outer = i + 1 < FRAMES ? ADDRESS(&contexts[i + 1]) : 0;
	}
}

static void make_lies(const char *mode, struct context *contexts)
{
	if (strcmp(mode, "cycle") == 0) {
		contexts[0].outer = ADDRESS(&contexts[1]);
		contexts[1].outer = ADDRESS(&contexts[1]);
		heap.attribute.words[1] = ADDRESS(&heap.attribute);
		heap.attribute.words[2] = 0;
		heap.symbol.words[0] = ADDRESS(&heap.symbol);
	} else if (strcmp(mode, "lengths") == 0) {
		heap.name.length = heap.path.length = heap.table.length = UINT64_MAX / 8;
	} else if (strcmp(mode, "wild") == 0) {
		heap.symbol.words[0] = 0xffffffff81000000;
		heap.closure.attributes = 9;
		contexts[0].outer = 0xffffffffff600000;
	} else if (strcmp(mode, "long") == 0) {
		make_many(contexts);
	}
}

static NOINLINE void builtin(double ms)
{
	burn_ms(ms);
}

/* The loop for bytecode: the largest function by far. */
static NOINLINE void run_bytecode(double ms)
{
	volatile double here = ms;

	__asm__ volatile("jmp 1f\n\t.fill 65536, 1, 0x90\n1:");
	R_GlobalContext->loop = ADDRESS(&here);
	builtin(here);
	__asm__ volatile("");
}

NOINLINE void Rf_eval(double ms);

void Rf_eval(double ms)
{
	run_bytecode(ms);
	__asm__ volatile("");
}

/* Tells the version, as in serialized data. It follows the other: where the last function ends is
 * unknown. */
void R_Serialize(void);

void R_Serialize(void)
{
	__asm__ volatile("" ::"S"(0x040202));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "honest";
	struct context contexts[FRAMES] = {0};
	pthread_t changer;

	set_up(strcmp(mode, "inline") == 0 ? &inline_context : contexts);
	make_lies(mode, contexts);
	if (strcmp(mode, "changing") == 0 && pthread_create(&changer, NULL, change, contexts) != 0)
		return 1;
	Rf_eval(1000 * (argc > 2 ? strtod(argv[2], NULL) : 0.5));
	return 0;
}

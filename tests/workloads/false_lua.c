/* SPDX-License-Identifier: MIT */
/*
 * false_lua MODE [SECONDS]: no Lua, but a program with the structures of 5.4, which burns in what
 * seems to be its interpreter. MODE says what is wrong with them:
 *   honest    nothing: one function, "honest", at line 7 of /honest.lua, and its caller
 *   cycle     calls that lead to themselves
 *   long      2,000 calls of as many functions
 *   lengths   tables and texts that claim to have gigabytes
 *   wild      pointers to nowhere, into the kernel and into the middle of things
 *   changing  another thread changes all of it, again and again
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/workloads/burn.h"
#include "tests/workloads/random_word.h"

#define CALLS 2000
#define ADDRESS(object) ((uint64_t)(uintptr_t)(object))

struct value {
	uint64_t value, type;
};

struct call {
	uint64_t function, top, outer, inner, instruction, rest[2];
	uint32_t words;
	uint16_t result_count, flags;
};

struct state {
	uint64_t next;
	uint8_t type, mark, status, hooks;
	uint32_t call_count;
	uint64_t top, global, call, stack_end, stack, rest[16];
};

struct closure {
	uint64_t next, head, list, proto, upvalue;
};

struct proto {
	uint64_t next;
	uint8_t head[8];
	uint32_t upvalue_count, constant_count, code_count, line_count, proto_count, local_count,
		mark_count, first_line, last_line, padding;
	uint64_t constants, code, protos, upvalues, lines, marks, locals, source;
};

struct string {
	uint64_t next, head, length;
	char text[40];
};

_Static_assert(sizeof(struct call) == 64 && sizeof(struct proto) == 120, "as in 5.4");

/* The interpreter exports its version. */
const char lua_ident[] = "$LuaVersion: Lua 5.4.6  Copyright (C) 1994-2023 Lua.org, PUC-Rio $";

enum {
	LOAD_GLOBAL = 11,
	CALL = 68,
	LUA_FUNCTION = 6 | 64,
	SHORT_STRING = 4 | 64,
	FRESH = 4,
};

/* All that the other thread changes. */
static struct {
	struct state state;
	struct call base, outer, call;
	struct value stack[8];
	struct closure closure, outer_closure;
	struct proto proto, outer_proto;
	struct string name, source;
	struct value constant;
	uint32_t code[4], outer_code[4];
	int8_t lines[8];
} heap;

static struct call calls[CALLS];
static struct value values[CALLS];
static struct closure closures[CALLS];
static struct proto protos[CALLS];

static void set_up(void)
{
	strcpy(heap.name.text, "honest");
	strcpy(heap.source.text, "@/honest.lua");
	heap.constant = (struct value){ADDRESS(&heap.name), SHORT_STRING};
	heap.outer_code[0] = LOAD_GLOBAL | 1 << 7;
	heap.outer_code[1] = CALL | 1 << 7;
	heap.proto = (struct proto){.code_count = 4,
				    .line_count = 4,
				    .first_line = 7,
				    .code = ADDRESS(heap.code),
				    .lines = ADDRESS(heap.lines),
				    .source = ADDRESS(&heap.source)};
	heap.outer_proto = heap.proto;
	heap.outer_proto.first_line = 1;
	heap.outer_proto.code = ADDRESS(heap.outer_code);
	heap.outer_proto.constants = ADDRESS(&heap.constant);
	heap.closure = (struct closure){.proto = ADDRESS(&heap.proto)};
	heap.outer_closure = (struct closure){.proto = ADDRESS(&heap.outer_proto)};
	heap.stack[0] = (struct value){0, 0};
	heap.stack[1] = (struct value){ADDRESS(&heap.outer_closure), LUA_FUNCTION};
	heap.stack[2] = (struct value){ADDRESS(&heap.closure), LUA_FUNCTION};
	heap.base = (struct call){.function = ADDRESS(&heap.stack[0])};
	heap.outer = (struct call){.function = ADDRESS(&heap.stack[1]),
				   .outer = ADDRESS(&heap.base),
				   .instruction = ADDRESS(&heap.outer_code[2]),
				   .flags = FRESH};
	heap.call = (struct call){.function = ADDRESS(&heap.stack[2]),
				  .outer = ADDRESS(&heap.outer),
				  .instruction = ADDRESS(&heap.code[1])};
	heap.state = (struct state){.type = 8,
				    .top = ADDRESS(&heap.stack[6]),
				    .call = ADDRESS(&heap.call),
				    .stack = ADDRESS(&heap.stack[0]),
				    .stack_end = ADDRESS(&heap.stack[7])};
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
	for (size_t i = 0; i < CALLS; i++) {
		protos[i] = heap.proto;
		protos[i].first_line = (uint32_t)i + 1;
		closures[i] = (struct closure){.proto = ADDRESS(&protos[i])};
		values[i] = (struct value){ADDRESS(&closures[i]), LUA_FUNCTION};
		calls[i] = heap.call;
		calls[i].function = ADDRESS(&values[i]);
		calls[i].outer = i ? ADDRESS(&calls[i - 1]) : ADDRESS(&heap.outer);
	}
	heap.state.stack = ADDRESS(&values[0]);
	heap.state.stack_end = heap.state.top = ADDRESS(&values[CALLS]);
	heap.state.call = ADDRESS(&calls[CALLS - 1]);
}

static void make_lies(const char *mode)
{
	if (strcmp(mode, "cycle") == 0) {
		heap.outer.outer = ADDRESS(&heap.call);
		heap.name.next = ADDRESS(&heap.name);
	} else if (strcmp(mode, "lengths") == 0) {
		heap.proto.code_count = heap.proto.line_count = heap.proto.mark_count = UINT32_MAX;
		heap.outer_proto.constant_count = heap.outer_proto.local_count = UINT32_MAX;
		memset(heap.source.text, 'x', sizeof(heap.source.text));
	} else if (strcmp(mode, "wild") == 0) {
		heap.proto.source = 0xffffffff81000000;
		heap.proto.lines = 0xffff800000000000;
		heap.outer_proto.constants = 9;
		heap.outer.outer = 0xffffffffff600000;
	} else if (strcmp(mode, "long") == 0) {
		make_many();
	}
}

__attribute__((noinline)) static void burn(double ms)
{
	burn_ms(ms);
}

/* luaV_execute, which is larger than all that it calls. */
__attribute__((noinline)) static int execute(volatile struct state *state, double ms)
{
	void *volatile kept = (void *)state;

	burn(ms);
	__asm__ volatile("jmp 1f\n\t.skip 4096, 0x90\n1:");
	return kept != NULL;
}

__attribute__((noinline)) int lua_callk(struct state *state, double ms);
__attribute__((noinline)) int lua_resume(struct state *state);

int lua_callk(struct state *state, double ms)
{
	return execute(state, ms) + 1;
}

int lua_resume(struct state *state)
{
	return state->type;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "honest";
	pthread_t changer;

	set_up();
	make_lies(mode);
	if (strcmp(mode, "changing") == 0 && pthread_create(&changer, NULL, change, NULL) != 0)
		return 1;
	return lua_callk(&heap.state, 1000 * (argc > 2 ? strtod(argv[2], NULL) : 0.5)) != 2;
}

/* SPDX-License-Identifier: MIT */
/* Names of the pieces in a blob of the JVM's own code: it has a list of all. */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/code/runtimes/hotspot_names.h"

#define STUBS_MAX 4096
#define NAME_SIZE 64

/* A StubCodeDesc: the same in all versions. */
struct stub {
	uint64_t next;
	uint64_t group, name; /* texts */
	uint64_t begin, end; /* its code */
};

struct stubs {
	VEC(struct stub) rows; /* without overlaps */
};

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Finds those within the code. */
static void find_stubs(struct hotspot_memory *memory, uint64_t list, uint64_t begin, uint64_t end,
		       struct stubs *found)
{
	struct stub stub;
	uint64_t addr;

	if (!hotspot_memory_word(memory, list, &addr))
		return;
	for (size_t i = 0; i < STUBS_MAX && addr; i++, addr = stub.next) {
		if (!hotspot_memory_read(memory, addr, &stub, sizeof(stub)))
			break;
		if (stub.begin >= begin && stub.begin < stub.end && stub.end <= end)
			vec_push(&found->rows, stub);
	}
	vec_sort(&found->rows, compare_stubs);
}

/* Adds the stub as a function that the code from that unit on is of. */
static void add_stub(struct hotspot_memory *memory, const struct stub *stub, uint32_t unit,
		     struct managed_code *code)
{
	struct managed_function f = {.start = -1, .end = -1};
	char name[NAME_SIZE];

	hotspot_memory_text(memory, stub->name, name, sizeof(name));
	hotspot_set_name(&f.name, NULL, 0, name, strlen(name));
	vec_push(&code->inlined, f);
	vec_push(&code->lines, ((struct managed_line){unit, 0, 0}));
	vec_push(&code->lines, ((struct managed_line){unit, 0, (uint32_t)code->inlined.count}));
}

/* The unit of an instruction is the byte before it, see hotspot_note(). */
static uint32_t unit_at(const struct hotspot_function_head *head, uint64_t addr)
{
	return addr > head->code ? (uint32_t)(addr - head->code - 1) : 0;
}

bool hotspot_read_stubs(struct hotspot_memory *memory, const struct hotspot_function_head *head,
			uint32_t units, struct managed_code *code)
{
	struct stubs found = {0};
	uint64_t end = head->code;
	bool is_found;

	find_stubs(memory, head->stubs, head->code, head->code + units - 1, &found);
	is_found = found.rows.count;
	vec_clear(&code->lines);
	vec_for_each(&found.rows, const struct stub *, stub) {
		if (stub->begin < end)
			continue;
		if (stub->begin > end)
			vec_push(&code->lines, ((struct managed_line){unit_at(head, end), 0, 0}));
		add_stub(memory, stub, unit_at(head, stub->begin), code);
		end = stub->end;
	}
	if (is_found)
		vec_push(&code->lines, ((struct managed_line){unit_at(head, end), 0, 0}));
	vec_release(&found.rows);
	return is_found;
}

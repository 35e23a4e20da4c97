/* SPDX-License-Identifier: MIT */
/*
 * Code that a program generates and publishes to debuggers (gdb's "JIT Compilation Interface"):
 * objects in memory with functions, lines and call frame information. They are untrusted: at worst,
 * forged contents lead to fewer functions.
 */
#pragma once

#include "lib/base/base.h"

struct object_range {
	uint64_t start, end;
};

struct object_function {
	uint64_t start, size; /* size is never 0 */
	const char *name; /* in the object; not terminated */
	size_t name_size;
};

struct object_line {
	uint64_t addr;
	uint32_t line; /* 0: unknown from this address on */
	uint32_t file; /* offset in `files` */
};

/* A zeroed struct is empty. */
struct code_object {
	VEC(struct object_range) ranges; /* code ranges; none wraps around */
	VEC(struct object_function) functions; /* each in a range; ascending */
	VEC(struct object_line) lines; /* ascending */
	struct strbuf files; /* names, each terminated */
	const uint8_t *eh_frame; /* .eh_frame or .debug_frame, in the object; NULL: none */
	size_t eh_frame_size;
	uint64_t eh_frame_addr; /* address for which its relative pointers were made */
	bool is_debug_frame;
	bool has_frames; /* functions return according to the ABI, on the thread's own stack */
	bool is_erlang; /* functions use their process's stack */
	struct object_range outermost; /* Erlang code that returns to nothing; end 0: none */
};

/*
 * Parses a 64-bit ELF object whose code sections have their addresses, or an object in the format
 * of Erlang's virtual machine. Applies the relocations of an object to `data`, and borrows it.
 * `object` must be empty. Returns false for other data.
 */
bool code_object_parse(struct code_object *object, uint8_t *data, size_t size);
void code_object_release(struct code_object *object);

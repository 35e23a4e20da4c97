/* SPDX-License-Identifier: MIT */
/*
 * V8's code of WebAssembly, as it lies in the memory of a process. V8 keeps it in C++ containers,
 * for which it exports no constants; but all versions since 10 use the same few, whose form can be
 * checked.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* Numbers of 32 bits in an object of code: its size, the number of its function. */
struct wasm_numbers {
	uint8_t size, function;
};

/* A function, and the place of its name among the names of its module. */
struct wasm_name {
	uint32_t function, place;
};

struct wasm_module {
	uint64_t object; /* V8's object, a NativeModule */
	uint64_t codes; /* address of its table of code */
	/* The module's file in memory, and the word of the object that leads to it. */
	uint64_t bytes, size, bytes_word;
	struct wasm_numbers numbers;
	uint32_t imports; /* functions with lower numbers are imported */
	struct strbuf file; /* name of the module */
	uint8_t *names; /* owned: a section with the functions' names; NULL: none */
	size_t names_size;
	VEC(struct wasm_name) rows; /* ascending by function */
	/* New code that has been read: V8's vector, the number of its elements, the last one. */
	uint64_t vector, vector_count, vector_last;
};

/* A piece of code. */
struct wasm_piece {
	uint64_t start;
	uint64_t object; /* V8's object, a WasmCode */
	uint64_t module; /* V8's object of its module; 0: it belongs to all */
	uint32_t size; /* bytes */
	uint32_t function;
	bool is_table; /* of jumps */
};

/* The modules of a process. A zeroed struct is empty. */
struct wasm_modules {
	uint64_t spaces; /* address of the table of memory for code; 0: not found yet */
	struct wasm_numbers numbers;
	VEC(struct wasm_module) rows;
	size_t names_size; /* of all rows */
	VEC(struct wasm_piece) pieces; /* read before, ascending */
};

void wasm_modules_release(struct wasm_modules *modules);

struct wasm_engine {
	/*
	 * Finds the table of memory by the code at `addr`, in an object that the engine's data
	 * refers to. Returns false, with `modules` unchanged, if it is not there.
	 */
	bool (*find_spaces)(struct wasm_modules *modules, uint64_t object, uint64_t addr,
			    runtime_read_fn *read, void *ctx);
	/* Finds and names the code at an address, once the table is known; else like find_regexp.
	 */
	bool (*find_code)(struct wasm_modules *modules, uint64_t addr, runtime_read_fn *read,
			  void *ctx, struct sampled_code *code);
	/* Returns a number that changes when memory of code may have been reused. */
	uint64_t (*generation)(const struct wasm_modules *modules, runtime_read_fn *read,
			       void *ctx);
};

extern const struct wasm_engine v8_wasm_engine;

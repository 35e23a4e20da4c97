/* SPDX-License-Identifier: MIT */
/*
 * Functions of Go's runtime that switch stacks: recognized by name, and their code read to locate
 * the switch. Private to Go's rows. All code is untrusted.
 */
#pragma once

#include "lib/code/unwind/stub_rows.h"

struct go_file;

/* Maximum bytes to read of a runtime function; the largest has some 400. */
#define GO_CODE_MAX 1024

/* The code of a function; may be truncated. */
struct go_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
};

/* Offsets in Go's structures, in words, read from the code of systemstack. */
struct go_layout {
	bool is_known;
	uint8_t g_reg; /* enum unwind_reg that holds g in code; UNWIND_REG_SP: use tls */
	int16_t tls; /* offset of g from the thread pointer */
	uint16_t packed; /* GO_PACK() */
};

struct go_function {
	struct go_code code;
	/*
	 * The function's rows: the stubs from number `first` on. The first one is at the function's
	 * start; the others are where the frame's size changes.
	 */
	struct stubs *rows;
	size_t first;
};

/* A function of Go's runtime whose frame size does not suffice to unwind it. */
struct go_special {
	const char *name;
	/* Corrects its rows; NULL: they are right. */
	void (*mend)(const struct go_function *function, const struct go_layout *layout);
};

/* Locations of saved registers: the frame pointer and, on arm64, the return address. */
struct go_saves {
	bool is_saved; /* saved like in compiled functions */
	uint16_t at; /* arm64: words from the CFA down to the return address; 0: the whole frame */
};

/* Architecture-specific part of the Go unwind tables. */
struct go_arch {
	/* Returns the rule of a frame of `size` bytes. */
	struct unwind_rule (*frame)(uint64_t size, struct go_saves saves);
	/* Finds the saved registers of an assembler function. */
	struct go_saves (*saves)(const struct go_code *code);
	/* Reads the layout from the code of systemstack; `go` locates thread-local variables. */
	void (*read_layout)(struct go_layout *layout, const struct go_code *code,
			    struct go_file *go);
	/*
	 * Returns the offset in g where the code stores a goroutine's labels, in bytes; 0: unknown.
	 */
	uint16_t (*label_place)(const struct go_code *code);
	const struct go_special *specials; /* the last has no name */
	/* Corrects the rows of other functions that write the stack pointer. */
	void (*mend_sp_writer)(const struct go_function *function);
};

/* Replaces the rules of a function's rows in a range of offsets. */
void go_replace(const struct go_function *function, size_t from, size_t to,
		struct unwind_rule rule);
/* Returns the rule in force at an offset. */
struct unwind_rule go_rule_at(const struct go_function *function, size_t offset);
/*
 * Returns `own` adapted to asmcgocall on the system stack; `slots` are the words above sp in which
 * it has stored the goroutine and the depth of its stack.
 */
struct unwind_rule go_depth_rule(struct unwind_rule own, const int slots[2]);

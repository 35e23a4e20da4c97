/* SPDX-License-Identifier: MIT */
/*
 * The functions of Go's runtime that change stacks, recognised by name, and read for where they do
 * so. Private to Go's rows. All code is untrusted.
 */
#ifndef PROF_LIB_CODE_UNWIND_GO_CODE_H
#define PROF_LIB_CODE_UNWIND_GO_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/code/unwind/stub_rows.h"

struct go_file;

/* Bytes read of a function of the runtime; the largest of them has some 400. */
#define GO_CODE_MAX 1024

/* The code of a function, of which some bytes may be missing at the end. */
struct go_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
};

/* Places of Go's structures, read from the code of systemstack; in words. */
struct go_layout {
	bool is_known;
	uint8_t g_reg; /* enum unwind_reg of code's register with g; UNWIND_REG_SP: use tls */
	int16_t tls; /* of g, from the thread pointer */
	uint16_t packed; /* GO_PACK() */
};

struct go_function {
	struct go_code code;
	/*
	 * The function's rows: those of the stubs from number `first` on, which begins at the
	 * function's start. The others begin where the frame's size changes.
	 */
	struct stubs *rows;
	size_t first;
};

/* A function of Go's runtime that its frame's size does not tell everything of. */
struct go_special {
	const char *name;
	/* Changes its rows; NULL: they are right. */
	void (*mend)(const struct go_function *function, const struct go_layout *layout);
};

/* Place of what a function saves: the frame pointer and, on arm64, its return address. */
struct go_saves {
	bool is_saved; /* as compiled functions do */
	uint16_t at; /* arm64: words from the CFA down to the return address; 0: the whole frame */
};

/* A machine's part of Go's rows. */
struct go_arch {
	/* Returns the rule of a frame of `size` bytes. */
	struct unwind_rule (*frame)(uint64_t size, struct go_saves saves);
	/* Reads the code of a function of the assembler. */
	struct go_saves (*saves)(const struct go_code *code);
	/* Reads places from the code of systemstack; `go` answers where thread-locals are. */
	void (*read_layout)(struct go_layout *layout, const struct go_code *code,
			    struct go_file *go);
	/* Returns the place in g that the code stores a goroutine's labels at, bytes; 0: unknown.
	 */
	uint16_t (*label_place)(const struct go_code *code);
	const struct go_special *specials; /* the last has no name */
	/* Changes the rows of other functions that write the stack pointer. */
	void (*mend_sp_writer)(const struct go_function *function);
};

/* Replaces the rules of a function's rows from one offset up to another. */
void go_replace(const struct go_function *function, size_t from, size_t to,
		struct unwind_rule rule);
/* Returns the rule in force at an offset. */
struct unwind_rule go_rule_at(const struct go_function *function, size_t offset);
/*
 * Returns `own` for asmcgocall on the system stack, where it has stored the goroutine and the depth
 * of its stack in these words above sp.
 */
struct unwind_rule go_depth_rule(struct unwind_rule own, const int slots[2]);

#endif

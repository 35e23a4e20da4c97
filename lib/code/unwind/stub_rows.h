/* SPDX-License-Identifier: MIT */
/* Rows for code without CFI whose shape is known: linkers' stubs, crti's functions. */
#pragma once

#include "bpf/unwind.h"
#include "lib/base/base.h"

struct unwind_arch;

/* A row applies up to the next one, as in a table. */
struct stub_row {
	uint64_t vaddr;
	struct unwind_rule rule; /* UNWIND_CFA_NONE: end of the stub */
};

struct stubs {
	VEC(struct stub_row) rows;
};

enum stub_kind {
	STUB_PLT, /* .plt: lazy binding */
	STUB_PLT_JUMPS, /* .plt.sec, .plt.got: only jumps */
	STUB_INIT_FINI, /* .init, .fini: one function each, made from crti.o and crtn.o */
	STUB_TEXT, /* a small .text: the vDSO's has no CFI on some machines */
	STUB_RESTORERS, /* a program's .text: where signal handlers return to, without glibc */
};

/* The bytes of a stub. */
struct stub_code {
	enum stub_kind kind;
	const uint8_t *code;
	size_t size;
	uint64_t vaddr;
};

void stubs_release(struct stubs *stubs);
/* Adds rows for these bytes; none if they match no known shape. */
void stubs_add(struct stubs *stubs, const struct unwind_arch *arch, const struct stub_code *code);
/* Sorts the rows by address and keeps one per address. */
void stubs_sort(struct stubs *stubs);

/* For the machine-dependent part of stubs_add(). */
void stubs_add_row(struct stubs *stubs, uint64_t vaddr, struct unwind_rule rule);
void stubs_add_end(struct stubs *stubs, const struct stub_code *code);
/* Returns the rule CFA = sp + offset, with everything else as at the function's entry. */
struct unwind_rule stubs_rule_at_entry(const struct unwind_arch *arch, int offset);
/* True if the code has `bytes` at that offset. */
#define stub_has(code, at, bytes) stub_has_bytes(code, at, bytes, sizeof(bytes) - 1)
bool stub_has_bytes(const struct stub_code *code, size_t at, const char *bytes, size_t count);

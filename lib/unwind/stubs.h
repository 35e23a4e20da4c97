/* SPDX-License-Identifier: MIT */
/* Rows for the little code without CFI whose shape is known: linker's stubs, crti's functions. */
#ifndef PROF_LIB_UNWIND_STUBS_H
#define PROF_LIB_UNWIND_STUBS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/unwind/arch.h"

/* As in a table: holds until the next one begins. */
struct stub_row {
	uint64_t vaddr;
	struct unwind_rule rule; /* UNWIND_CFA_NONE: the stub has ended */
};

struct stubs {
	VEC(struct stub_row) rows;
};

enum stub_kind {
	STUB_PLT, /* .plt: lazy binding */
	STUB_PLT_JUMPS, /* .plt.sec, .plt.got: jumps alone */
	STUB_INIT_FINI, /* .init, .fini: one function each, made of crti.o and crtn.o */
	STUB_SIGNAL, /* search for the return from a signal handler */
};

void stubs_release(struct stubs *stubs);
/* Adds what is known of these bytes at that vaddr; nothing where they look unlike anything known.
 */
void stubs_add(struct stubs *stubs, const struct unwind_arch *arch, enum stub_kind kind,
	       const uint8_t *code, size_t size, uint64_t vaddr);
/* Puts the rows in order; where stubs overlap, the later ones are dropped. */
void stubs_sort(struct stubs *stubs);

#endif

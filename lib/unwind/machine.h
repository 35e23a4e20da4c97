/* SPDX-License-Identifier: MIT */
/* The machine that ran what is unwound: what no file and no record tells. */
#ifndef PROF_LIB_UNWIND_MACHINE_H
#define PROF_LIB_UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/unwind/arch.h"

struct unwind_machine {
	const struct unwind_arch *arch; /* of its 64-bit programs */
	uint64_t pc_mask; /* the bits of a return address that are no signature */
	uint32_t page_size; /* bytes, a power of two */
};

/* The machine that this program runs on. */
struct unwind_machine unwind_machine_own(void);
bool unwind_machine_is_arm64(const struct unwind_machine *machine);

#endif

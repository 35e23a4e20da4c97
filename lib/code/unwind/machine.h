/* SPDX-License-Identifier: MIT */
/* Facts about the machine that ran the unwound programs, which no file and no record contains. */
#ifndef PROF_LIB_CODE_UNWIND_MACHINE_H
#define PROF_LIB_CODE_UNWIND_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/code/unwind/arch.h"

struct unwind_machine {
	const struct unwind_arch *arch; /* for its 64-bit programs */
	uint64_t pc_mask; /* bits of a return address that are not its signature */
	uint32_t page_size; /* bytes, a power of two */
};

/* Returns the machine that this program runs on. */
struct unwind_machine unwind_machine_own(void);
bool unwind_machine_is_arm64(const struct unwind_machine *machine);

#endif

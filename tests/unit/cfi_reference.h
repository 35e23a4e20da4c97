/* SPDX-License-Identifier: MIT */
/*
 * Compares a compiled table with libdw's reading of the same file. Both are asked for every row, at
 * its first and its last byte, on a machine with arbitrary registers and memory. Compared are the
 * caller's CFA, pc and registers, not the form of the rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/base.h"

enum cfi_verdict {
	CFI_EQUAL,
	CFI_DIFFERENT, /* another CFA, pc, register or kind of frame */
	CFI_UNSUPPORTED, /* libdw has a rule, we have none */
	CFI_REG_UNSUPPORTED, /* equal, except that we do not know rbp or rbx */
	CFI_STUB, /* we have a rule of our own, mostly where libdw has no FDE */
	CFI_REFERENCE_FAILED, /* libdw finds an FDE but cannot read it; we have no rule either */
	CFI_VERDICT_COUNT,
};

struct cfi_difference {
	uint64_t pc;
	enum cfi_verdict verdict;
	const char *what;
};

struct cfi_comparison {
	uint64_t counts[CFI_VERDICT_COUNT];
	/* Called for each difference; may be NULL. */
	void (*report)(void *context, const struct cfi_difference *difference);
	void *context;
};

extern const char *const cfi_verdict_names[CFI_VERDICT_COUNT];

/*
 * Adds a file to the comparison. Returns a negative errno if it is not an ELF file of a supported
 * machine.
 */
int cfi_compare(int fd, struct cfi_comparison *comparison, struct error *err);

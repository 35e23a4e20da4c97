/* SPDX-License-Identifier: MIT */
/*
 * Compares a compiled table with what libdw says of the same file. Both are asked for every row, at
 * its first and at its last byte, on a machine whose registers and memory are arbitrary numbers:
 * what counts is the caller's CFA, pc and registers that come out, not how a rule is written.
 */
#ifndef PROF_TESTS_UNIT_CFI_REFERENCE_H
#define PROF_TESTS_UNIT_CFI_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

enum cfi_verdict {
	CFI_EQUAL,
	CFI_DIFFERENT, /* another CFA, pc, register or kind of frame */
	CFI_UNSUPPORTED, /* ours has no rule, libdw has */
	CFI_REG_UNSUPPORTED, /* all is equal but that ours does not know rbp or rbx */
	CFI_STUB, /* ours has a rule of its own, mostly where libdw has no FDE */
	CFI_REFERENCE_FAILED, /* libdw finds an FDE and cannot read it; ours has no rule either */
	CFI_VERDICT_COUNT,
};

struct cfi_difference {
	uint64_t pc;
	enum cfi_verdict verdict;
	const char *what;
};

struct cfi_comparison {
	uint64_t counts[CFI_VERDICT_COUNT];
	/* Called for everything that is not equal; may be NULL. */
	void (*report)(void *context, const struct cfi_difference *difference);
	void *context;
};

extern const char *const cfi_verdict_names[CFI_VERDICT_COUNT];

/* Adds a file to the comparison. Negative errno where it is no ELF file of our machines. */
int cfi_compare(int fd, struct cfi_comparison *comparison, struct error *err);

#endif

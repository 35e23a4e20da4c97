/* SPDX-License-Identifier: MIT */
/* A folder of its own for a test that has other programs make files, removed with all in it. */
#ifndef PROF_TESTS_UNIT_SCRATCH_H
#define PROF_TESTS_UNIT_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

struct scratch {
	char dir[64];
};

void scratch_init(struct scratch *s);
void scratch_release(struct scratch *s);
/* A shell's command in that folder, $SRC being the repository's; it must succeed. */
void scratch_run(const struct scratch *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* "DIR/name"; the caller's to free. */
char *scratch_path(const struct scratch *s, const char *name);
/* A new descriptor for reading. */
int scratch_open(const struct scratch *s, const char *name);

/* RVA of a symbol of an ELF file in it. */
uint64_t scratch_rva(const struct scratch *s, const char *name, const char *symbol);

#endif

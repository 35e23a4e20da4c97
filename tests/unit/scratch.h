/* SPDX-License-Identifier: MIT */
/* A folder for files that other programs make for a test. Removed with its contents. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct scratch {
	char dir[64];
};

void scratch_init(struct scratch *s);
void scratch_release(struct scratch *s);
/* Releases the folder that is the state of a fixture. */
int scratch_teardown(void **state);
/* Runs a shell command in the folder, with $SRC set to the repository. It must succeed. */
void scratch_run(const struct scratch *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns "DIR/name"; free it. */
char *scratch_path(const struct scratch *s, const char *name);
/* Opens a file of the folder for reading. */
int scratch_open(const struct scratch *s, const char *name);

/* Returns the RVA of a symbol in an ELF file of the folder. */
uint64_t scratch_rva(const struct scratch *s, const char *name, const char *symbol);

/* SPDX-License-Identifier: MIT */
/*
 * Rows for the code of Go programs, from the sizes of frames in Go's table of functions
 * (lib/code/binary/pclntab.h), which stripped programs have, too. Go's CFI, if it is there at all, says
 * neither where the frame pointer is saved nor how the runtime goes from one stack to another.
 */
#ifndef PROF_LIB_CODE_UNWIND_GO_ROWS_H
#define PROF_LIB_CODE_UNWIND_GO_ROWS_H

#include <stdbool.h>

#include "lib/code/unwind/cfi_file.h"
#include "lib/code/unwind/stubs.h"

/* Adds the rows in order of address. False: no Go program, or one of a version without rows. */
bool go_rows_add(struct stubs *stubs, const struct cfi_file *file);

#endif

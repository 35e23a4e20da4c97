/* SPDX-License-Identifier: MIT */
/* The kernel's tracepoints, as tracefs lists them. */
#ifndef PROF_LIB_LIVE_MACHINE_TRACEFS_H
#define PROF_LIB_LIVE_MACHINE_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* Can it be the name of a tracepoint: "NAME" or "CATEGORY:NAME", of letters, digits, '_' and '-'?
 */
bool tracefs_is_name(const char *name);
/*
 * The tracepoint's id. A name without category becomes one with it, in a buffer of `size` bytes,
 * where only one category has it. 0 or a negative errno, with a hint.
 */
int tracefs_find(char *name, size_t size, uint64_t *id, struct error *err);

#endif

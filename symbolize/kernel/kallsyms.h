/* SPDX-License-Identifier: MIT */
/* The kernel's own list of all its symbols, as text. */
#ifndef PROF_SYMBOLIZE_KERNEL_KALLSYMS_H
#define PROF_SYMBOLIZE_KERNEL_KALLSYMS_H

#include "lib/base/error.h"
#include "symbolize/kernel/kernel_table.h"

/*
 * Reads all of /proc/kallsyms, or a copy of it, from the start of fd (borrowed). -ENOENT if the
 * kernel hides its addresses, which are all 0 then.
 */
int kallsyms_read(struct kernel_table **out, int fd, struct error *err);

#endif

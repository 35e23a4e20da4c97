/* SPDX-License-Identifier: MIT */
/* Collects the kernel symbols that a profile needs, without the kernel's whole list. */
#ifndef PROF_CMD_RUN_KERNEL_SYMBOL_LIST_H
#define PROF_CMD_RUN_KERNEL_SYMBOL_LIST_H

#include "lib/live/recorder.h"
#include "lib/profile/profile.h"
#include "symbolize/kernel/kernel_table.h"

/*
 * Returns the kernel symbols in which frames of the profile lie; the caller frees. NULL if the
 * whole list must be read: the kernel cannot be asked, has too many symbols, or hides them.
 */
struct kernel_table *kernel_symbol_list_collect(struct profile *p, struct recorder *recorder);

#endif

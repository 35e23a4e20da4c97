/* SPDX-License-Identifier: MIT */
/* Saves reading the kernel's whole list of symbols for the few of them that a profile has. */
#ifndef PROF_CMD_RUN_KERNEL_SYMBOL_LIST_H
#define PROF_CMD_RUN_KERNEL_SYMBOL_LIST_H

#include "lib/live/recorder.h"
#include "lib/profile/profile.h"
#include "symbolize/kernel/kernel_table.h"

/*
 * The kernel's symbols that frames of the profile lie in, to be freed. NULL: the whole list has to
 * be read, because the kernel cannot be asked or has too many of them, or it hides them.
 */
struct kernel_table *kernel_symbol_list_collect(struct profile *p, struct recorder *recorder);

#endif

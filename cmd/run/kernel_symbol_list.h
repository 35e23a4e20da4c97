/* SPDX-License-Identifier: MIT */
/* Saves reading the kernel's whole list of symbols for the few of them that a profile has. */
#ifndef PROF_CMD_RUN_KERNEL_SYMBOL_LIST_H
#define PROF_CMD_RUN_KERNEL_SYMBOL_LIST_H

#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/*
 * Replaces the list that the recorder has opened, where the kernel can be asked itself and does not
 * hide its symbols.
 */
void kernel_symbol_list_collect(struct profile *p, struct recorder *recorder);

#endif

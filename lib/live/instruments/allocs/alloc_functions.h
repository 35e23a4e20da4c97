/* SPDX-License-Identifier: MIT */
/* The functions of an allocator that has no probes: libc's, or another that a file brings. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_ALLOC_FUNCTIONS_H
#define PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_ALLOC_FUNCTIONS_H

#include "lib/live/instruments/usdt/usdt_probes.h"

/* Readers of struct usdt_probes: all functions, and those that return a block. */
void alloc_functions_read(struct usdt_file *file, int fd);
void alloc_functions_read_returning(struct usdt_file *file, int fd);

#endif

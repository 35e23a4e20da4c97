/* SPDX-License-Identifier: MIT */
/* The process that looks after the converter and the pushers: starts them, and starts them anew. */
#ifndef PROF_CMD_RUN_WINDOW_GUARD_H
#define PROF_CMD_RUN_WINDOW_GUARD_H

#include "cmd/run/window_converter.h"

/* Its status if windows are left that were not sent: in memory, or else in the folder. */
#define WINDOW_GUARD_UNSENT 3
#define WINDOW_GUARD_WAITING 4

/*
 * Becomes that process, which never returns: n->capture and n->jobs are its own from now on, all
 * other descriptors but the standard ones are closed. It ends after the recorder, once the others
 * have.
 */
void window_guard_run(struct window_converter *n) __attribute__((noreturn));

#endif

/* SPDX-License-Identifier: MIT */
/* The process that starts, monitors and restarts the converter and the pushers. */
#pragma once

#include "cmd/run/window_converter.h"

/* Exit status of the guard if unsent windows are left, in memory or in the folder. */
#define WINDOW_GUARD_UNSENT 3
#define WINDOW_GUARD_WAITING 4

/*
 * Becomes the guard process and never returns. Takes over n->capture and n->jobs, and closes all
 * other descriptors except the standard ones. Exits after the recorder, once the other processes
 * have ended.
 */
void window_guard_run(struct window_converter *n) __attribute__((noreturn));

/* SPDX-License-Identifier: MIT */
/* Calls that may never return, for example into a file system whose server does not respond. */
#pragma once

#include "lib/base/base.h"

/*
 * Calls run(ctx) in a new thread and waits up to limit_ns for it. Returns true if it returned. On
 * false the thread is left behind; it calls release(ctx) if run() ever returns, and the caller must
 * not touch ctx any more. Calls run(ctx) in the caller's thread if no thread can be started.
 */
bool bounded_call(void (*run)(void *ctx), void (*release)(void *ctx), void *ctx, uint64_t limit_ns);

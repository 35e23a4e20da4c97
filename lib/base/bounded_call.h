/* SPDX-License-Identifier: MIT */
/* Calls that need not come back, as of file systems whose server does not answer. */
#ifndef PROF_LIB_BASE_BOUNDED_CALL_H
#define PROF_LIB_BASE_BOUNDED_CALL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Calls run(ctx) in a thread of its own, and waits for it limit_ns at most. True: it came back.
 * False: the thread was left behind, and calls release(ctx) if it ever comes back; the caller must
 * not touch ctx any more. Calls it in the caller's thread if there can be no other.
 */
bool bounded_call(void (*run)(void *ctx), void (*release)(void *ctx), void *ctx, uint64_t limit_ns);

#endif

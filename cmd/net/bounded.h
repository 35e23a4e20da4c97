/* SPDX-License-Identifier: MIT */
/*
 * Runs file reads that may never return, as on a network file system, in separate threads with a
 * bounded wait.
 */
#pragma once

#include "lib/base/base.h"

typedef void bounded_fn(void *ctx);

/*
 * Runs fn(ctx) and waits a bounded time. Returns -ETIMEDOUT with err if fn makes no progress; it
 * may still be running, and calls free_ctx(ctx) when it ends. Otherwise the caller frees ctx.
 */
int bounded_run(bounded_fn *fn, bounded_fn *free_ctx, void *ctx, struct error *err);
/* Ends all waits now. True if a thread is still running, so that its data must stay. */
bool bounded_stop(void);

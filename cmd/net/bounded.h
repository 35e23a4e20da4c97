/* SPDX-License-Identifier: MIT */
/*
 * Work that reads files, and need not end: a network's file system may never answer. Each piece has
 * a thread of its own, for which nobody waits for long.
 */
#ifndef PROF_CMD_NET_BOUNDED_H
#define PROF_CMD_NET_BOUNDED_H

#include <stdbool.h>

#include "lib/base/error.h"

typedef void bounded_fn(void *ctx);

/*
 * Runs fn(ctx). -ETIMEDOUT with err: it stands still, and may still go on; then it calls
 * free_ctx(ctx) at its end. Otherwise the caller does.
 */
int bounded_run(bounded_fn *fn, bounded_fn *free_ctx, void *ctx, struct error *err);
/* Ends all waiting now. True: something still runs, and what it uses must stay. */
bool bounded_stop(void);

#endif

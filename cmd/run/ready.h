/* SPDX-License-Identifier: MIT */
/* Tells a script that recording has begun: --ready-fd and --ready-file. */
#ifndef PROF_CMD_RUN_READY_H
#define PROF_CMD_RUN_READY_H

#include "cmd/options/live_options.h"
#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct ready {
	int fd; /* -1: none, or said already */
	struct outfile *file; /* NULL: likewise */
};

/* -EBADF where the descriptor of --ready-fd cannot be written to. */
int ready_check(const struct live_options *options, struct error *err);
/* Early, so that it is refused early. The descriptor is taken over, and not inherited. */
int ready_open(struct ready *r, const struct live_options *options, struct identity owner,
	       struct error *err);
/* Writes "ready" and closes. The descriptor's reader may be gone, which is its own affair. */
int ready_say(struct ready *r, struct error *err);
void ready_release(struct ready *r);

#endif

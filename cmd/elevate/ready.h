/* SPDX-License-Identifier: MIT */
/* Reports to a script that recording has begun: --ready-fd and --ready-file. */
#pragma once

#include "cmd/options/live_options.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct ready {
	int fd; /* -1: none, or already written */
	struct outfile *file; /* NULL: none, or already written */
};

/* Returns -EBADF if the descriptor of --ready-fd is not writable. */
int ready_check(const struct live_options *options, struct error *err);
/*
 * Opens early, so that errors come early. Takes ownership of the descriptor and makes it close-on-
 * exec.
 */
int ready_open(struct ready *r, const struct live_options *options, struct identity owner,
	       struct error *err);
/* Writes "ready" and closes. It is not an error if the reader has closed its end. */
int ready_say(struct ready *r, struct error *err);
void ready_release(struct ready *r);

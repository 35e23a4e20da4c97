/* SPDX-License-Identifier: MIT */
/* The files that a recording writes: opened before anything is started, so that they are refused
 * early. */
#ifndef PROF_CMD_RUN_OUTPUTS_H
#define PROF_CMD_RUN_OUTPUTS_H

#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/run/ready.h"
#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct outputs {
	struct outfile *profile;
	struct outfile *stats; /* NULL: not asked for */
	struct ready ready;
};

#define OUTPUTS_INIT ((struct outputs){.ready.fd = -1})

/* As that user. Release it, also after a failure. */
int outputs_open(struct outputs *o, const struct output_options *output,
		 const struct live_options *live, const struct identity *owner, struct error *err);
/* What was not committed is gone. */
void outputs_release(struct outputs *o);

#endif

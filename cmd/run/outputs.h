/* SPDX-License-Identifier: MIT */
/* Files that a recording writes. Opened before anything is started, to be refused early. */
#ifndef PROF_CMD_RUN_OUTPUTS_H
#define PROF_CMD_RUN_OUTPUTS_H

#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/elevate/ready.h"
#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct outputs {
	struct outfile *profile;
	struct outfile *stats; /* NULL: not asked for */
	struct ready ready;
};

#define OUTPUTS_INIT ((struct outputs){.ready.fd = -1})

/* Opens them as that user. Release also after a failure. */
int outputs_open(struct outputs *o, const struct output_options *output,
		 const struct live_options *live, const struct identity *owner, struct error *err);
/* Discards files that were not committed. */
void outputs_release(struct outputs *o);

#endif

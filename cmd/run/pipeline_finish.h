/* SPDX-License-Identifier: MIT */
/* Output files of a recording. Opened before anything is started, so that errors come early. */
#pragma once

#include "cmd/elevate/ready.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct outputs {
	struct outfile *profile;
	struct outfile *stats; /* NULL: not requested */
	struct ready ready;
};

#define OUTPUTS_INIT ((struct outputs){.ready.fd = -1})

/* Opens the files as that user. Release even after a failure. */
int outputs_open(struct outputs *o, const struct output_options *output,
		 const struct live_options *live, const struct identity *owner, struct error *err);
/* Discards files that were not committed. */
void outputs_release(struct outputs *o);

/* Keeps the cost of recording below --max-overhead: lowers the sampling rate and finally pauses. */

struct pipeline;

/* Initially zeroed. */
struct overhead {
	/* Time and accumulated cost at the last check; 0: no check yet. */
	uint64_t checked_ns, spent_ns;
	bool has_begun; /* the first second has passed */
};

/* Checks the cost in the kernel and prof's own CPU time once a second. Call often. */
void overhead_poll(struct pipeline *p);

/* SPDX-License-Identifier: MIT */
/* Frames that a pprof file requests to be dropped, by the names of their functions. */
#pragma once

#include <regex.h>

#include "lib/model/tables/profile.h"

struct pprof_drop {
	regex_t drop, keep;
	bool has_keep;
	uint8_t *known; /* by func_id: 1 plus whether its frames are dropped; 0: not known yet */
};

/*
 * Compiles the expressions, "" for none; those not understood are added to *unread. Returns false,
 * with nothing to release, if no frame is to be dropped. The functions of `p` are complete.
 */
bool pprof_drop_init(struct pprof_drop *d, const struct profile *p, const char *drop,
		     const char *keep, uint64_t *unread);
bool pprof_drop_is(struct pprof_drop *d, const struct profile *p, frame_id id);
void pprof_drop_release(struct pprof_drop *d);

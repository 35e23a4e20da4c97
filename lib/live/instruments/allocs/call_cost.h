/* SPDX-License-Identifier: MIT */
/* Measures on this machine what it takes a program to pass a probe: up to 10 us in some. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_CALL_COST_H
#define PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_CALL_COST_H

#include "lib/live/bpf/uprobe.h"

struct call_cost {
	double call_ns; /* of a function that is probed as it is called */
	double return_ns; /* in addition, if as it returns, too */
};

/*
 * Attaches the programs to a function of prof's own, which nobody calls later. The links are the
 * caller's, who may leave them open, as closing takes long. Returns 0 or -errno with err.
 */
int call_cost_measure(struct call_cost *cost, int program, int return_program, uint32_t flags,
		      struct uprobe_links *links, struct error *err);

#endif

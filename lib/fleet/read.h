/* SPDX-License-Identifier: MIT */
/*
 * Rows of an engine → a profile of many machines. The engine adds up by stack and time; a thread
 * stands for a service, or for what else the address says.
 */
#ifndef PROF_LIB_FLEET_READ_H
#define PROF_LIB_FLEET_READ_H

#include "lib/fleet/engine.h"
#include "lib/model/tables/profile.h"

/* -ENODATA: nothing is there that the address chooses. */
int fleet_read(const struct engine *e, struct profile **p, struct error *err);

/* Answers of the engine to each of the questions, RowBinary. */
struct fleet_answers {
	struct strbuf windows, samples, stacks;
};

/* Makes a profile of them. They are not trusted: memory is bounded by a multiple of their size. */
int fleet_build(struct profile **p, const struct fleet_url *url, const struct fleet_answers *from,
		struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Locations as pprof and OTLP have them: a place in code with all functions that are inlined there,
 * in place of a frame for each.
 */
#ifndef PROF_LIB_FORMAT_LOCATION_TABLE_H
#define PROF_LIB_FORMAT_LOCATION_TABLE_H

#include "lib/model/tables/profile.h"

struct location_table {
	struct stacks
		chains; /* a row for each location: its innermost function, the others after it */
	stack_id *of_stacks; /* by stack_id: the row of chains */
	stack_id *callers; /* by stack_id: the stack of the next location, or NO_STACK */
};

void location_table_init(struct location_table *t, const struct profile *p);
void location_table_release(struct location_table *t);

#endif

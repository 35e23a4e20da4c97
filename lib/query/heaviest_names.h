/* SPDX-License-Identifier: MIT */
/* Names to ask for, where a filter has left nothing. */
#ifndef PROF_LIB_QUERY_HEAVIEST_NAMES_H
#define PROF_LIB_QUERY_HEAVIEST_NAMES_H

#include "lib/query/select.h"

/*
 * Adds a hint to an error: the heaviest threads or processes of those that the filter's other
 * conditions leave. Nothing if it asks for neither a thread nor a process.
 */
void heaviest_names_hint(struct error *err, const struct profile *p,
			 const struct query_filter *filter);

#endif

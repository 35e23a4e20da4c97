/* SPDX-License-Identifier: MIT */
/* Suggests names when a filter selects nothing. */
#pragma once

#include "lib/query/select.h"

/*
 * Adds a hint to an error: the heaviest threads or processes that match the filter's other
 * conditions. Does nothing without a condition on thread or process.
 */
void heaviest_names_hint(struct error *err, const struct profile *p,
			 const struct query_filter *filter);

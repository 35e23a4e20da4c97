/* SPDX-License-Identifier: MIT */
/* Functions of two builds that are one function, for a profile that has both. */
#ifndef PROF_LIB_QUERY_JOIN_FUNCTIONS_H
#define PROF_LIB_QUERY_JOIN_FUNCTIONS_H

#include "lib/model/tables/profile.h"
#include "lib/query/shares.h"

/*
 * Makes one function of those that a comparison takes for one: they have one name, without what
 * compilers add, and one place. A place that one side alone has does not count. Threads are sides,
 * by enum side. Frames keep their modules, addresses and symbols; nothing can be interned in
 * frames and functions afterwards.
 */
void join_functions(struct profile *p);

#endif

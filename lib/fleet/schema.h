/* SPDX-License-Identifier: MIT */
/*
 * The tables of an engine, by version; prof-fleet(7) describes them. They use only what all servers
 * since 18.16 have.
 */
#ifndef PROF_LIB_FLEET_SCHEMA_H
#define PROF_LIB_FLEET_SCHEMA_H

#include "lib/fleet/engine.h"

#define SCHEMA_VERSION 1

/*
 * Makes the database and its tables, or brings older ones up to this version. *before: the version
 * that they had, 0: none. `cluster`: the servers of that name share the rows, of which this is one;
 * NULL: it has all. -ENOTSUP: they are newer.
 */
int schema_init(const struct engine *e, const char *cluster, uint32_t *before, struct error *err);
/* Checks that the tables are there. -ENOENT, -ENOTSUP, with what to do. */
int schema_check(const struct engine *e, struct error *err);

#endif

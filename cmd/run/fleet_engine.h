/* SPDX-License-Identifier: MIT */
/* An engine that a user names on the command line. */
#ifndef PROF_CMD_RUN_FLEET_ENGINE_H
#define PROF_CMD_RUN_FLEET_ENGINE_H

#include "lib/fleet/engine.h"

struct fleet_engine {
	struct fleet_url url;
	char *password; /* owned, or NULL */
	int tls_files[FLEET_TLS_COUNT]; /* descriptors; 0: none */
	struct engine engine; /* borrows both: the struct stays where it is */
};

/*
 * Parses the address, and reads its files as the invoking user, before privileges are given up; no
 * request is made. Call release in any case. -EINVAL: the address is wrong.
 */
int fleet_engine_open(struct fleet_engine *e, const char *address, struct error *err);
/* Refuses collectors, too, which keep nothing. */
int fleet_engine_open_store(struct fleet_engine *e, const char *address, struct error *err);
void fleet_engine_release(struct fleet_engine *e);

#endif

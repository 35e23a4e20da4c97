/* SPDX-License-Identifier: MIT */
/* An engine whose address is given on the command line. */
#pragma once

#include "lib/fleet/engine.h"

struct fleet_engine {
	struct fleet_url url;
	char *password; /* owned, or NULL */
	int tls_files[FLEET_TLS_COUNT]; /* descriptors; 0: no such file */
	struct engine engine; /* borrows the members above, so the struct must not move */
};

/*
 * Parses the address, and reads its files as the invoking user, before privileges are dropped.
 * Sends no request. Release even after a failure. Returns -EINVAL for an invalid address.
 */
int fleet_engine_open(struct fleet_engine *e, const char *address, struct error *err);
/*
 * Does the same, but rejects collectors, which store nothing; with `merged`, not those that return
 * a merged profile.
 */
int fleet_engine_open_store(struct fleet_engine *e, const char *address, bool merged,
			    struct error *err);
void fleet_engine_release(struct fleet_engine *e);

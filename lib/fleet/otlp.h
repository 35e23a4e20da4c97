/* SPDX-License-Identifier: MIT */
/*
 * Profile → OTLP profiles, v1development: a resource for each program of a service, in it a profile
 * for each event. Waits are left out: a collector's samples are of CPU time.
 */
#ifndef PROF_LIB_FLEET_OTLP_H
#define PROF_LIB_FLEET_OTLP_H

#include "lib/fleet/push.h"

/*
 * Reads what a collector answers. Returns the number of profiles that it refuses; `words` gets its
 * reason, printable.
 */
uint64_t otlp_refused(const struct strbuf *answer, struct strbuf *words);
/*
 * Sends it, in as many requests as it takes. Errors are those of fleet_push(); -EREMOTEIO after an
 * answer without an error, too: the collector refuses some of it. pushed->samples says how much it
 * has.
 */
int otlp_push(const struct engine *e, const struct profile *p, const struct fleet_origin *origin,
	      struct fleet_pushed *pushed, struct error *err);

#endif

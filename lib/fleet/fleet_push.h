/* SPDX-License-Identifier: MIT */
/*
 * Profile → an engine. Its rows are sums by window of time and stack: a window that the engine has
 * is not sent again, and one that was sent in part does not count, as its row of prof_windows comes
 * last.
 */
#ifndef PROF_LIB_FLEET_FLEET_PUSH_H
#define PROF_LIB_FLEET_FLEET_PUSH_H

#include "lib/fleet/engine.h"
#include "lib/model/tables/profile.h"

#define FLEET_WINDOW_S 10

/* Facts that a profile does not say of itself. */
struct fleet_origin {
	const char *host;
	const char *service; /* NULL: each process has its own */
	const char *fallback; /* of those that say nothing; NULL: what is known of each */
	size_t max_series; /* resources at most; 0: the default */
	const char *const *labels; /* "key=value", NULL-terminated */
	uint64_t lost; /* samples */
	bool is_window; /* all of the profile is one window */
	size_t request_bytes; /* a request has about so many at most; 0: the default */
	uint64_t done; /* samples that a collector has already; an engine knows that itself */
};

struct fleet_pushed {
	uint64_t windows, known; /* sent, and not sent because they are there */
	uint64_t samples; /* in the windows sent, by their weights, of all events */
	uint64_t merged; /* resources that became one, as they were too many */
	uint64_t refused; /* profiles, by a collector that took the others */
};

/*
 * Sends a profile, in the way of the engine's kind; see engine_kind.h.
 *
 * -ENODATA: there is nothing to send. -EINVAL: it does not say when it was recorded. -EMSGSIZE: a
 * request is too large. Otherwise what engine_send_fn says, or -EREMOTEIO; *pushed is set, too.
 */
int fleet_push(const struct engine *e, const struct profile *p, const struct fleet_origin *origin,
	       struct fleet_pushed *pushed, struct error *err);

#endif

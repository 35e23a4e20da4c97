/* SPDX-License-Identifier: MIT */
/*
 * Sends a profile to an engine, as sums by time window and stack. A window that the engine already
 * has is not sent again. A window sent in part does not count, because its row of prof_windows is
 * sent last.
 */
#pragma once

#include "lib/fleet/engine.h"
#include "lib/model/tables/profile.h"

#define FLEET_WINDOW_S 10

/* Facts about a profile that the profile itself lacks. */
struct fleet_origin {
	const char *host;
	const char *service; /* service of all processes; NULL: each process has its own */
	/* Service of processes that name none; NULL: derived from the process. */
	const char *fallback;
	size_t max_series; /* maximum number of resources; 0: the default */
	const char *const *labels; /* "key=value" strings, NULL-terminated */
	uint64_t lost; /* number of lost samples */
	bool is_window; /* the whole profile is one window */
	size_t request_bytes; /* approximate maximum size of a request; 0: the default */
	uint64_t done; /* number of samples a collector already has; databases report their own
			  number */
};

struct fleet_pushed {
	/* Windows sent, and windows not sent because the engine has them. */
	uint64_t windows, known;
	uint64_t samples; /* weighted number of samples of all events in the windows sent */
	uint64_t merged; /* resources merged into one because there were too many */
	uint64_t done; /* number of samples that a collector took or rejected for good */
	uint64_t refused; /* profiles rejected by a collector that accepted the others */
	bool is_whole; /* a collector took or rejected all of them: nothing is left to send */
};

/*
 * Sends a profile in the format of the engine's kind; see engine_kind.h.
 *
 * -ENODATA: nothing to send. -EINVAL: the profile has no start time. -EMSGSIZE: a request is too
 * large. Otherwise an error of engine_send_fn, or -EREMOTEIO. Sets *pushed even on error.
 */
int fleet_push(const struct engine *e, const struct profile *p, const struct fleet_origin *origin,
	       struct fleet_pushed *pushed, struct error *err);

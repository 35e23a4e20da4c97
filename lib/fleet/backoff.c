/* SPDX-License-Identifier: MIT */
#include "lib/fleet/backoff.h"

/* A server's Retry-After is capped at this many times the longest delay. */
#define ASKED_RATIO 12

void backoff_fail(struct backoff *b, uint64_t now_ns, uint64_t at_least_ns, uint64_t random)
{
	uint64_t longest = b->first_ns * BACKOFF_RATIO, delay = b->first_ns;

	for (uint64_t i = 0; i < b->failures && delay < longest; i++)
		delay *= 2;
	if (delay > longest)
		delay = longest;
	/*
	 * Jitter between half and all of the delay, so that machines that failed together do not
	 * return together.
	 */
	delay = delay / 2 + random % (delay / 2 + 1);
	if (at_least_ns > longest * ASKED_RATIO)
		at_least_ns = longest * ASKED_RATIO;
	if (delay < at_least_ns)
		delay = at_least_ns + random % (b->first_ns + 1);
	b->failures++;
	b->due_ns = now_ns + delay;
}

void backoff_succeed(struct backoff *b)
{
	b->failures = 0;
	b->due_ns = 0;
}

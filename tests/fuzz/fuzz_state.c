/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as records that a capture's state is kept of. It is given back in their middle and at
 * their end: as valid records, which bring a new session there, and one that knows all already.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/stream/capture/state.h"
#include "lib/stream/record/records.h"
#include "lib/stream/session/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct replay {
	struct capture_state *state;
	struct profile *whole_profile, *part_profile;
	struct session *whole; /* takes all records */
	struct session *part; /* begins in the middle; NULL until then */
	bool is_twice; /* the session that knows all takes the state, too */
};

static struct session *new_session(struct profile **p)
{
	*p = profile_new();
	(*p)->meta.start_ns = 1000;
	return session_new(*p);
}

static void take_state(void *ctx, const struct rec *rec)
{
	struct replay *r = ctx;

	if (!record_is_valid(rec, record_size(rec)))
		abort();
	session_feed_state(r->part, rec);
	if (r->is_twice)
		session_feed_state(r->whole, rec);
}

/* Words that begin no record are skipped, which helps the fuzzer. */
static void feed(struct replay *r, const uint64_t *words, size_t count)
{
	for (size_t at = 0; at < count;) {
		const struct rec *rec = (const struct rec *)(words + at);

		if (!record_is_valid(rec, (count - at) * 8)) {
			at++;
			continue;
		}
		capture_state_take(r->state, rec);
		session_feed(r->whole, rec);
		if (r->part)
			session_feed(r->part, rec);
		at += rec->words;
	}
}

static void finish(struct session *s, struct profile *p)
{
	session_finish(s, UINT32_MAX);
	session_free(s);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size / 8, middle;
	uint64_t *words = malloc(count * 8 + 8);
	struct replay r = {.state = capture_state_new()};

	if (!words || !count) {
		free(words);
		capture_state_free(r.state);
		return 0;
	}
	memcpy(words, data, count * 8);
	middle = words[0] % count;
	r.is_twice = size % 8;
	r.whole = new_session(&r.whole_profile);
	feed(&r, words, middle);
	r.part = new_session(&r.part_profile);
	capture_state_give(r.state, take_state, &r);
	feed(&r, words + middle, count - middle);
	capture_state_give(r.state, take_state, &r);
	finish(r.whole, r.whole_profile);
	finish(r.part, r.part_profile);
	capture_state_free(r.state);
	free(words);
	return 0;
}

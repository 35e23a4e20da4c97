/* SPDX-License-Identifier: MIT */
/* Names of the frames of a moving profile, which outlive the session that has the frames. */
#ifndef PROF_LIB_RECORDING_MOVING_NAMES_H
#define PROF_LIB_RECORDING_MOVING_NAMES_H

#include "lib/base/identity.h"
#include "lib/base/index.h"
#include "lib/model/tables/profile.h"
#include "lib/recording/recording_facts.h"
#include "lib/recording/workplace/read_contents.h"
#include "symbolize/name_cache.h"

/* Result for a frame: frames in the chain of struct moving_names, the outermost first. */
struct moved_frame {
	uint32_t first, count; /* count 0: nothing yet */
};

/* A frame of a file or of the kernel, whatever the session. */
struct known_frame {
	uint64_t module; /* hash of what identifies it */
	uint64_t offset;
	uint8_t kind;
	bool is_used; /* since the profile is there */
	struct moved_frame as;
};

/* Sources of names, and those that are known. */
struct moving_names {
	struct recording_facts facts;
	struct read_contents contents;
	struct name_cache *cache;
	struct identity owner;
	const char *const *dirs;
	bool no_symbols;
	VEC(frame_id) chain; /* frames of the profile */
	VEC(struct known_frame) known;
	struct index index; /* of those */
	uint64_t spent_ns, last_spent_ns; /* on all naming, and at the last time */
	uint64_t named_ns; /* when that ended */
};

/*
 * Is it time to name new frames, so that it takes a small part of all time? `is_urgent`: many
 * samples wait for them.
 */
bool moving_names_are_due(const struct moving_names *n, bool is_urgent);
/* Moves what is known, as far as it is used, from one profile to the next. */
void moving_names_move(struct moving_names *n, struct profile *into, const struct profile *from);
void moving_names_release(struct moving_names *n);
/* Returns what a session's frame became, whichever session asked for it. */
struct moved_frame moving_names_find(const struct moving_names *n, const struct profile *p,
				     frame_id id);
/* Keeps what a frame of a session became. */
void moving_names_learn(struct moving_names *n, const struct profile *p, frame_id id,
			struct moved_frame as);

#endif

/* SPDX-License-Identifier: MIT */
/* Facts about modules whose code leaves stacks incomplete or guessed. */
#pragma once

#include "lib/model/facts/facts.h"
#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"

/*
 * Adds a fact for each file with samples that could not be opened while it was recorded, those with
 * the most samples first.
 */
void stack_shares_add_unopened(struct facts *f, const struct profile *p,
			       enum recorder_unwind unwind);

/*
 * Adds the modules whose code lacks unwind rules, so that the frames above it were guessed, those
 * with the most samples first. Adds nothing if less than GUESSES_SHOWN of the stacks are guessed.
 */
void stack_shares_add_guessed(struct facts *f, const struct profile *p);

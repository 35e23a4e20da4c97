/* SPDX-License-Identifier: MIT */
/* Ends of a thread's waits: markers of wakers, or else those of the critical path. */
#pragma once

#include "lib/model/tables/profile.h"

/* The end of a wait, which has a row in [from, until]. */
struct waking {
	uint64_t from, until; /* CLOCK_MONOTONIC ns */
	stack_id stack; /* the waker's; NO_STACK: unknown */
	string_id name; /* of the waker's thread, or of another cause; not NO_STRING */
};

struct thread_of_tid {
	uint32_t tid;
	string_id name;
};

struct wakings {
	const struct profile *p;
	schema_id woken, path; /* NO_SCHEMA: none was recorded */
	uint32_t waker, tid, stack, cause; /* fields */
	VEC(struct thread_of_tid) threads; /* by tid */
	VEC(struct waking) rows; /* of the thread chosen last, by start */
};

/* Returns false if the profile has no such markers; the struct must be released in any case. */
bool wakings_init(struct wakings *w, const struct profile *p);
void wakings_release(struct wakings *w);
/* Chooses a thread. */
void wakings_of_thread(struct wakings *w, thread_id id);
/* Returns the end of the wait with a row at that time, or NULL. `time`: CLOCK_MONOTONIC, in ns. */
const struct waking *wakings_at(const struct wakings *w, uint64_t time);

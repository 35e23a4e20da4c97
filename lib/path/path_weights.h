/* SPDX-License-Identifier: MIT */
/*
 * Weighs the samples on a profile's critical path, by its markers. The time of each part is exact,
 * the code is sampled: a thread's path time is distributed evenly over its samples there.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* Labels in markers of the critical path, by which readers recognize its parts. */

enum path_kind {
	PATH_RUNS,
	PATH_QUEUED, /* runnable, but without a CPU */
	PATH_WAKING, /* was woken, but not queued yet: an idle CPU takes time, and so does an
			interrupt */
	PATH_WAITS, /* waits for something outside: a timer, a disk, an unrecorded process */
	PATH_UNKNOWN, /* not covered by records */
	PATH_KIND_COUNT,
};

/* By enum path_kind. Waits have the labels of wait frames instead: "[futex]". */
extern const char *const path_labels[PATH_KIND_COUNT];

/* Cause of an inferred part. */
#define PATH_INFERRED "inferred: held a lock"

/* Sums about the path and the command, each a marker. */
enum path_sum_kind {
	PATH_SUM_RUNNING, /* running time of all threads */
	PATH_SUM_REPLAY, /* replayed time of the unchanged command, alone on the machine */
	PATH_SUM_OWN_QUEUE, /* path time queued while the command's own threads ran */
	PATH_SUM_ALONE, /* path time in which only one thread of the command ran */
	PATH_SUM_LEFT_OUT, /* the command's first part, after which there were too many waits */
	PATH_SUM_KIND_COUNT,
};

extern const char *const path_sum_names[PATH_SUM_KIND_COUNT];

/* A sample on the path, or a part of it without samples. */
struct path_weight {
	thread_id thread;
	uint8_t kind; /* enum path_kind */
	bool is_inferred;
	uint16_t cpu; /* NO_CPU: unknown */
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t ns; /* time on the path */
	stack_id stack; /* code that ran, or waited; NO_STACK: not sampled */
	string_id label; /* for all but PATH_RUNS: "[queued]", "[futex]" */
	string_id step; /* the thread's, see path_steps() */
};

typedef void path_weight_fn(void *ctx, const struct path_weight *weight);

/* Returns true for clock samples of running threads. */
bool path_is_tick(const struct profile *p, const struct sample *sample);
/*
 * Returns the name of the stack's innermost function in the user's own code, or else of its
 * innermost function. `origins`: see origins_of_frames().
 */
string_id path_function(const struct profile *p, const uint8_t *origins, stack_id stack);
/*
 * Returns the name of the innermost named function outside the kernel and the C library, preferably
 * of the user's own code; NO_STRING if there is none.
 */
string_id path_user_function(const struct profile *p, const uint8_t *origins, stack_id stack);
/*
 * Returns the name of the user's innermost function from *stack on that is not `function`, and
 * moves *stack to its caller; NO_STRING if there is none before the program's entry.
 */
string_id path_caller(const struct profile *p, const uint8_t *origins, stack_id *stack,
		      string_id function);
/* Returns true for functions like main(), with which programs begin. */
bool path_is_entry(const char *name);
/*
 * Returns the name of the step that each thread is, by thread_id: the title of its process if it
 * has the process's name ("cc1 parse.c"), otherwise its own name. The caller frees the array.
 */
string_id *path_steps(struct profile *p);
/*
 * Calls `fn` for each weight, thread by thread, in order of time within a thread's samples and
 * within its waits. Returns false if the profile has no critical path.
 */
bool path_weights_each(const struct profile *p, path_weight_fn *fn, void *ctx);

/* Name of the event that path_weights_apply() makes with `as_event`. */
#define PATH_EVENT "critical path"

/*
 * Reduces the profile to its critical path: rows of samples weighted in microseconds, as clock
 * samples or as an event of their own. Returns false if there is no path.
 */
bool path_weights_apply(struct profile *p, bool as_event);
/*
 * Adds those rows of PATH_EVENT to the samples of a profile that has a critical path, in place of
 * such rows that it has.
 */
void path_weights_add(struct profile *p);

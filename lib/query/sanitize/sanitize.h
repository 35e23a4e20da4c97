/* SPDX-License-Identifier: MIT */
/*
 * Makes a profile for publication: a new profile that contains only data known to be harmless.
 * Removes or replaces the classes below, and drops data of unknown meaning.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* SipHash-2-4: without the key, names cannot be guessed by hashing candidates. */

#define KEYED_HASH_KEY_SIZE 16

uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_SIZE], const void *data, size_t size);

/* ROW(CONSTANT, "name", whether removed by default, singular, plural) */
#define SANITIZE_CLASSES(ROW) \
	ROW(ARGS, "args", true, "argument", "arguments") \
	ROW(ENV, "env", true, "environment", "environments") \
	ROW(PATHS, "paths", true, "path", "paths") \
	ROW(HOST, "host", true, "name of a machine", "names of machines") \
	ROW(USERS, "users", true, "name of a user", "names of users") \
	ROW(PROCESSES, "processes", false, "name of a process", "names of processes") \
	ROW(THREADS, "threads", false, "name of a thread", "names of threads") \
	ROW(MARKERS, "markers", false, "marker", "markers") \
	ROW(TIMES, "times", false, "time of day", "times of day") \
	ROW(SOURCES, "sources", true, "text of a source file", "texts of source files") \
	ROW(BUILD_IDS, "build-ids", false, "build id", "build ids")

enum sanitize_class {
#define SANITIZE_ENUM(id, name, is_default, one, many) SANITIZE_##id,
	SANITIZE_CLASSES(SANITIZE_ENUM)
#undef SANITIZE_ENUM
		SANITIZE_CLASS_COUNT,
};

struct sanitize_user {
	const char *name, *home, *full_name; /* each may be NULL */
};

struct sanitize_options {
	bool removes[SANITIZE_CLASS_COUNT];
	/*
	 * Functions, modules, processes and threads whose names do not match this expression are
	 * renamed to "f_" with a hash of the name. NULL: all keep their names.
	 */
	const char *names;
	uint8_t key[KEYED_HASH_KEY_SIZE]; /* key of the keyed hash */
	/* Names of this machine, in addition to those in the profile. */
	const struct sanitize_user *users;
	size_t user_count;
	const char *host; /* may be NULL */
};

struct sanitize_counts {
	uint64_t removed[SANITIZE_CLASS_COUNT];
	uint64_t hashed; /* number of hashed names */
	uint64_t unknown; /* number of values with unknown meaning */
};

/*
 * Makes a new profile, which the caller frees. Returns -EINVAL if `names` is not a valid
 * expression.
 */
int sanitize(struct profile **into, const struct profile *from,
	     const struct sanitize_options *options, struct sanitize_counts *counts,
	     struct error *err);

/* Checks a profile before publication for anything that identifies its user or machine. */

struct sanitize_finding {
	const char *what; /* "the name of a user", … */
	char *text; /* text of the finding; owned */
};

struct sanitize_findings {
	VEC(struct sanitize_finding) rows;
};

void sanitize_findings_release(struct sanitize_findings *f);
/*
 * Searches all strings of `p` for the user, the host and the home folder of the options, for paths
 * outside of the system's folders, and for the arguments of the processes of `from`, which may be
 * `p`. Ignores arguments that are options or names of programs; searches those without a slash only
 * outside of the names of code. Stops at `max` findings.
 */
void sanitize_search(struct sanitize_findings *f, const struct profile *p,
		     const struct profile *from, const struct sanitize_options *options,
		     size_t max);

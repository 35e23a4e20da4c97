/* SPDX-License-Identifier: MIT */
/*
 * A profile that may leave the house: a new one, into which only what is known to be harmless is
 * written. Leaves out or replaces what a class below names, and leaves out what no part of the
 * program knows.
 */
#ifndef PROF_LIB_QUERY_SANITIZE_SANITIZE_H
#define PROF_LIB_QUERY_SANITIZE_SANITIZE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/model/tables/profile.h"

/* SipHash-2-4: without the key, nobody can try names until one has the hash. */

#define KEYED_HASH_KEY_SIZE 16

uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_SIZE], const void *data, size_t size);

/* ROW(CONSTANT, "name", is it a part of the default?, one that is counted, several) */
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
	 * Functions and modules whose name does not match this expression become "f_" with a hash
	 * of their name; so do processes and threads. NULL: all keep their names.
	 */
	const char *names;
	uint8_t key[KEYED_HASH_KEY_SIZE]; /* of these hashes */
	/* Names of this machine, besides those in the profile. */
	const struct sanitize_user *users;
	size_t user_count;
	const char *host; /* may be NULL */
};

struct sanitize_counts {
	uint64_t removed[SANITIZE_CLASS_COUNT];
	uint64_t hashed; /* names */
	uint64_t unknown; /* values that no part of the program knows */
};

/* Makes a new profile, to be freed. -EINVAL: `names` is no expression. */
int sanitize(struct profile **into, const struct profile *from,
	     const struct sanitize_options *options, struct sanitize_counts *counts,
	     struct error *err);

#endif

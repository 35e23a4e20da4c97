/* SPDX-License-Identifier: MIT */
/*
 * Removes from texts who recorded, and where. Paths in them keep their folders only below the
 * system's own; home folders become "~", and of other paths, also relative ones, the last part is
 * left. Names of users and machines become "user" and "host" wherever they stand; addresses of
 * pages lose their machine, and kernels what follows their version.
 */
#ifndef PROF_LIB_QUERY_SANITIZE_SCRUB_H
#define PROF_LIB_QUERY_SANITIZE_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

/* Home folders in paths, and whose they are. */

struct home_folders {
	VEC(char *) rows; /* besides the usual ones */
	VEC(char *) groups; /* "INITECH" of "/home/INITECH/bob" */
};

/* Names of users and machines, replaced wherever they stand in a text. */

enum private_kind {
	PRIVATE_USER,
	PRIVATE_HOST,
	PRIVATE_KIND_COUNT,
};

struct private_word {
	char *text; /* in lower case; owned */
	size_t size;
	enum private_kind kind;
	char *becomes; /* owned */
};

struct private_words {
	VEC(struct private_word) rows;
	bool begins[PRIVATE_KIND_COUNT][256]; /* a word of that kind, by byte in lower case */
};

struct scrubber {
	bool paths, users, hosts; /* are taken away */
	struct home_folders homes;
	struct private_words words;
	uint64_t changed_paths, changed_users, changed_hosts; /* counts */
};

void scrubber_release(struct scrubber *s);
/* Ignored: NULL, "/", and names that many have ("root", "localhost", "ubuntu"). */
void scrubber_add_home(struct scrubber *s, const char *path);
void scrubber_add_user(struct scrubber *s, const char *name);
/* A name with blanks, as accounts have it. NULL is fine; one word may be anything. */
void scrubber_add_full_name(struct scrubber *s, const char *name);
/* Adds the name without its domain, and the domain, too. */
void scrubber_add_host(struct scrubber *s, const char *name);
/* Adds the name of a kernel's build, "6.1.0-27-initech": its version stays. */
void scrubber_add_release(struct scrubber *s, const char *release, size_t size);
/* Adds the users in whose home folders a path of the text lies. */
void scrubber_learn(struct scrubber *s, const char *text, size_t size);

/* Appends any text; paths begin with a slash. */
void scrub_text(struct scrubber *s, struct strbuf *out, const char *text, size_t size);
/* Appends a path, which may be relative, or a pseudo path such as "[vdso]". */
void scrub_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size);

/* True if the path lies in a folder of the system, whose paths everybody has. */
bool scrub_is_public_path(const char *path, size_t size);

#endif

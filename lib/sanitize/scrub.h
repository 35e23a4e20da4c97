/* SPDX-License-Identifier: MIT */
/*
 * Texts without what tells who recorded where. Paths in them keep their folders only below the
 * system's own; home folders become "~", and of other paths the last part is left. Names of users
 * and machines become "user" and "host" wherever they stand as words; addresses of pages lose their
 * machine.
 */
#ifndef PROF_LIB_SANITIZE_SCRUB_H
#define PROF_LIB_SANITIZE_SCRUB_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

struct scrub_word {
	char *text; /* owned */
	size_t size;
	const char *becomes;
};

struct scrubber {
	bool paths, users, hosts; /* are taken away */
	VEC(char *) homes; /* besides the usual ones */
	VEC(struct scrub_word) words;
	uint64_t changed_paths, changed_users, changed_hosts; /* counts */
};

void scrubber_release(struct scrubber *s);
/* Ignored: NULL, "/", and a name that everybody has ("root", "localhost"). */
void scrubber_add_home(struct scrubber *s, const char *path);
void scrubber_add_user(struct scrubber *s, const char *name);
/* Adds the name without its domain, too. */
void scrubber_add_host(struct scrubber *s, const char *name);
/* Adds the users in whose home folders a path of the text lies. */
void scrubber_learn(struct scrubber *s, const char *text, size_t size);

/* Appends any text; paths begin with a slash. */
void scrub_text(struct scrubber *s, struct strbuf *out, const char *text, size_t size);
/* Appends a path, which may be relative, or a pseudo path such as "[vdso]". */
void scrub_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size);

/* True if the path lies in a folder of the system, whose paths everybody has. */
bool scrub_is_public_path(const char *path, size_t size);

#endif

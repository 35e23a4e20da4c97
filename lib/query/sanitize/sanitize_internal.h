/* SPDX-License-Identifier: MIT */
/* Parts of sanitizing: names and paths without identity, and the state of a pass. */
#pragma once

#include <regex.h>

#include "lib/base/base.h"
#include "lib/query/sanitize/sanitize.h"

/*
 * Removes the identity of the user and the machine from strings. Paths keep only folders of the
 * system; home folders become "~", and other paths, including relative ones, are reduced to their
 * last part. Names of users and machines become "user" and "host" everywhere; URLs lose their host,
 * and kernel releases the part after the version.
 */

/* Home folders in paths, and their owners. */

struct home_folders {
	VEC(char *) rows; /* folders besides the usual ones */
	VEC(char *) groups; /* groups of users, such as "INITECH" of "/home/INITECH/bob" */
};

/* Names of users and machines, replaced wherever they occur. */

enum private_kind {
	PRIVATE_USER,
	PRIVATE_HOST,
	PRIVATE_KIND_COUNT,
};

struct private_word {
	char *text; /* word in lower case; owned */
	size_t size;
	enum private_kind kind;
	char *becomes; /* replacement; owned */
};

struct private_words {
	VEC(struct private_word) rows;
	bool begins[PRIVATE_KIND_COUNT][256]; /* some word begins with this byte in lower case */
};

struct scrubber {
	bool paths, users, hosts; /* classes to remove */
	struct home_folders homes;
	struct private_words words;
	uint64_t changed_paths, changed_users, changed_hosts; /* counts */
};

void scrubber_release(struct scrubber *s);
/* Ignores NULL, "/", and common names ("root", "localhost", "ubuntu"). */
void scrubber_add_home(struct scrubber *s, const char *path);
void scrubber_add_user(struct scrubber *s, const char *name);
/* Adds a name that contains blanks, as in accounts. Accepts NULL; ignores a single word. */
void scrubber_add_full_name(struct scrubber *s, const char *name);
/* Adds the name without its domain, and the domain as well. */
void scrubber_add_host(struct scrubber *s, const char *name);
/* Adds the build name in a kernel release, "6.1.0-27-initech"; the version is kept. */
void scrubber_add_release(struct scrubber *s, const char *release, size_t size);
/* Adds the users whose home folders contain a path in the text. */
void scrubber_learn(struct scrubber *s, const char *text, size_t size);

/* Appends any text. Recognizes paths by a leading slash. */
void scrub_text(struct scrubber *s, struct strbuf *out, const char *text, size_t size);
/* Appends a path, relative or absolute, or a pseudo path such as "[vdso]". */
void scrub_path(struct scrubber *s, struct strbuf *out, const char *path, size_t size);

/* True if the path is in a system folder, whose paths exist on every machine. */
bool scrub_is_public_path(const char *path, size_t size);

/* Shared by the files that sanitize a profile. */

struct sanitizer {
	const struct sanitize_options *options;
	struct sanitize_counts *counts;
	const struct profile *from;
	struct profile *into;
	struct scrubber scrubber;
	regex_t names; /* valid if options->names */
	/* New ids by old id. */
	module_id *modules;
	func_id *funcs;
	symbol_id *symbols;
	source_file_id *files;
	frame_id *frames;
	stack_id *stacks;
	bool *is_label; /* by func_id: the function is the label of a wait, not code */
};

/* Collects names of users, machines and kernels, which may occur anywhere. */
void sanitize_learn(struct scrubber *scrubber, const struct profile *from,
		    const struct sanitize_options *options);
/*
 * True for the kernel and files in system folders: their function names are public, and "vm" in one
 * is not a machine's name.
 */
bool sanitize_is_public_module(const struct profile *p, module_id module);

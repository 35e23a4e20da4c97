/* SPDX-License-Identifier: MIT */
/*
 * Default options of a user or a machine, in increasing order of precedence:
 *
 * /etc/prof.conf, $XDG_CONFIG_HOME/prof/config, PROF_OPTIONS, the command line
 *
 * Files have a section for each command, with lines "option = value". Defaults become words before
 * those of the command line, so parsers treat both alike. A process with more rights than its
 * caller accepts only options that are `is_plain` from the caller's defaults.
 */
#pragma once

#include "cmd/options/option_table.h"

struct default_option {
	char *name;
	char *value; /* NULL: no value */
	char *origin; /* source, such as "/etc/prof.conf:3" */
	unsigned int weight; /* precedence of the source: the largest wins */
	/* Reason for ignoring it: "replaced by /etc/prof.conf:5". NULL: it applies. */
	char *left_out;
};

/* A zeroed struct is empty. */
struct defaults {
	VEC(struct default_option) rows;
	VEC(char *) sources; /* printable names of the sources read */
};

/* Returns true if there is a command of that name. */
typedef bool is_command_fn(const char *name);

/*
 * Reads the defaults of a command with these options. `others`: sections whose options also apply
 * if the command has them; NULL: none. Returns -EINVAL if a line is wrong; err then begins with the
 * origin.
 */
int defaults_read(struct defaults *d, const char *command, const char *others,
		  struct option_table *table, is_command_fn *is_command, struct error *err);
/*
 * Drops defaults that the command line overrides or excludes: options of the same name, and those
 * that a rule of the table makes conflict.
 */
void defaults_fit(struct defaults *d, struct option_table *table, int argc, char **argv);
/*
 * Returns the words with the defaults inserted after the first one, NULL-terminated, and sets
 * *argc. The caller frees the array. The words belong to d and argv.
 */
char **defaults_expand(const struct defaults *d, int *argc, char **argv);
/* If the wrong word is a default, adds its origin to err. */
void defaults_blame(const char *word, struct error *err);
void defaults_release(struct defaults *d);

static inline void defaults_release_cleanup(struct defaults *d)
{
	defaults_release(d);
}

/* SPDX-License-Identifier: MIT */
/*
 * Options that a user or a machine wants by default, in order of their weight:
 *
 *	/etc/prof.conf, $XDG_CONFIG_HOME/prof/config, PROF_OPTIONS, the command line
 *
 * Files have a section for each command, with "option = value" in its lines. Defaults become words
 * before those of the command line, so that whatever parses them knows nothing of where they are
 * from. Of what a process with more rights than its caller reads from him, only options that are
 * `is_plain` count.
 */
#ifndef PROF_CMD_OPTIONS_DEFAULTS_H
#define PROF_CMD_OPTIONS_DEFAULTS_H

#include <stdbool.h>

#include "cmd/options/option_table.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"

struct default_option {
	char *name;
	char *value; /* NULL: none */
	char *origin; /* "/etc/prof.conf:3" */
	unsigned int weight; /* of its source: the larger one counts */
	/* Why it does not count: "replaced by /etc/prof.conf:5". NULL: it counts. */
	char *left_out;
};

/* Zeroed is empty. */
struct defaults {
	VEC(struct default_option) rows;
	VEC(char *) sources; /* lines for people: what was read */
};

/* Tells whether there is such a command. */
typedef bool is_command_fn(const char *name);

/*
 * Reads what there is for a command with these options. `others`: sections whose options count too,
 * where the command has them; NULL: none. -EINVAL with err that begins with the origin: a line is
 * wrong.
 */
int defaults_read(struct defaults *d, const char *command, const char *others,
		  struct option_table *table, is_command_fn *is_command, struct error *err);
/*
 * Leaves out what the words of the command line replace, or does not fit them: options of the same
 * name, and those that a rule of the table keeps apart.
 */
void defaults_fit(struct defaults *d, struct option_table *table, int argc, char **argv);
/*
 * Returns the words with the defaults after the first one, NULL-terminated, and sets *argc. The
 * caller frees the array; the words stay as long as both.
 */
char **defaults_expand(const struct defaults *d, int *argc, char **argv);
/* Says in err which default is the wrong word, if it is one of them. */
void defaults_blame(const char *word, struct error *err);
void defaults_release(struct defaults *d);

static inline void defaults_release_cleanup(struct defaults *d)
{
	defaults_release(d);
}

#endif

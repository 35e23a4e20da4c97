/* SPDX-License-Identifier: MIT */
#ifndef PROF_CMD_CONFIG_H
#define PROF_CMD_CONFIG_H

#include "cmd/command.h"
#include "cmd/options/defaults.h"

/* Returns the command of that name, NULL if none. */
const struct command *find_command(const char *name);
/* Returns the nth command; NULL: there are no more. */
const struct command *command_at(size_t n);
/*
 * Reads the defaults of a command that fit these words; none with --no-config. -EINVAL with err: a
 * line is wrong.
 */
int config_read(struct defaults *d, const struct command *command, int argc, char **argv,
		struct error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* Sanitizes a profile as the invoking user asks, and reports what was removed. */
#ifndef PROF_CMD_RUN_SANITIZING_H
#define PROF_CMD_RUN_SANITIZING_H

#include "cmd/options/sanitize_options.h"

/*
 * Replaces *p, which is owned, by what the settings leave of it. `label`: of the command, for lines
 * on stderr. Returns 0; 1 if it is to be checked and something was found, with err set; negative
 * with err on failure. *p is valid in any case.
 */
int sanitizing_run(struct profile **p, const struct sanitize_settings *settings, const char *label,
		   struct error *err);

#endif

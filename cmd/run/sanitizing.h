/* SPDX-License-Identifier: MIT */
/* Sanitizes a profile with the user's settings, and reports what was removed. */
#pragma once

#include "cmd/options/sanitize_options.h"

/*
 * Replaces *p, which is owned, by its sanitized form. `label`: the command's, for messages on
 * stderr. Returns 0; 1 with err if a check found something; a negative errno with err on failure.
 * *p is valid in any case.
 */
int sanitizing_run(struct profile **p, const struct sanitize_settings *settings, const char *label,
		   struct error *err);

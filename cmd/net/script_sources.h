/* SPDX-License-Identifier: MIT */
/*
 * Sources of scripts. A front-end asks for those of machine code by address, and for no others:
 * they have to be in the profile.
 */
#ifndef PROF_CMD_NET_SCRIPT_SOURCES_H
#define PROF_CMD_NET_SCRIPT_SOURCES_H

#include "lib/base/outfile.h"
#include "lib/base/readers.h"
#include "lib/model/tables/profile.h"

/* Tells whether the profile has functions of scripts without their texts. */
bool script_sources_are_missing(const struct profile *p);
/*
 * Writes the profile, which `text` is, with the texts of its scripts as far as they are here and
 * source_text_read() takes them for the owners. Errors as for contents_write().
 */
int script_sources_write(const struct profile *p, const struct readers *owners, const char *text,
			 size_t size, struct outfile *out, struct error *err);

#endif

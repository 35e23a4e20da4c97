/* SPDX-License-Identifier: MIT */
/* Advice for a recording with few samples or with code without names. */
#ifndef PROF_CMD_TEXT_ADVICE_H
#define PROF_CMD_TEXT_ADVICE_H

#include <stdbool.h>

#include "cmd/text/record_summary.h"
#include "lib/base/strbuf.h"

/* Tells how a distribution provides names for an installed program. */

/* True if the path is in a folder that only a distribution's packages write to. */
bool debug_package_may_have(const char *path);
/*
 * Returns "install bash-dbgsym, or set DEBUGINFOD_URLS …" for a file that may be in a package; NULL
 * if there is nothing to say. The caller frees. `root`: folder with the distribution's files, ""
 * for the machine's own, of a container perhaps, whose files are not trusted; has_servers:
 * DEBUGINFOD_URLS is set.
 */
char *debug_package_remedy(const char *root, const char *path, bool has_servers);
/*
 * Returns "sources of libc6 are not on this machine: apt source glibc" for a file that may be in a
 * Debian package; NULL if there is nothing to say. The caller frees.
 */
char *debug_package_sources(const char *root, const char *path);

/* Appends one line, or nothing if there are enough samples. */
void advice_on_samples(const struct outcome *outcome, struct strbuf *out);
/*
 * Appends one line about the module with the most samples in code without names, and a remedy.
 * Nothing if that is less than a twentieth of the samples.
 */
void advice_on_names(const struct profile *p, struct strbuf *out);

#endif

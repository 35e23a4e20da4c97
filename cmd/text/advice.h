/* SPDX-License-Identifier: MIT */
/* Advice for a recording with few samples or with code without names. */
#pragma once

#include "cmd/text/record_summary.h"

/* Package remedies: names of installed programs, as distributions provide them. */

/* True if only a distribution's packages install files in the path's folder. */
bool debug_package_may_have(const char *path);
/*
 * Returns "install bash-dbgsym, or set DEBUGINFOD_URLS …" for a file that may be in a package; NULL
 * if there is no advice. The caller frees. `root`: folder with the distribution's files, "" for
 * this machine's; may be a container's, whose files are untrusted. has_servers: DEBUGINFOD_URLS is
 * set.
 */
char *debug_package_remedy(const char *root, const char *path, bool has_servers);
/*
 * Returns "sources of libc6 are not on this machine: apt source glibc" for a file that may be in a
 * Debian package; NULL if there is no advice. The caller frees.
 */
char *debug_package_sources(const char *root, const char *path);

/* Appends one line if there are too few samples. */
void advice_on_samples(const struct outcome *outcome, struct strbuf *out);
/*
 * Appends one line about the module with the most samples in unnamed code, and a remedy. Appends
 * nothing below a twentieth of the samples.
 */
void advice_on_names(const struct profile *p, struct strbuf *out);

/* SPDX-License-Identifier: MIT */
/* May this machine record? One row a requirement, each with the one command that mends it. */
#ifndef PROF_LIB_LIVE_FEATURES_H
#define PROF_LIB_LIVE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

enum feature_status {
	FEATURE_OK,
	FEATURE_NOTE, /* works, with less: what is missing is said */
	FEATURE_MISSING, /* cannot record */
};

struct feature {
	const char *name; /* "kernel", "btf", "bpf", "perf_event_paranoid", "capabilities", … */
	enum feature_status status;
	char detail[320]; /* what was found */
	char hint[256]; /* the one command that mends it, empty where nothing is to mend */
	bool wants_privilege; /* the hint is the one that all have that lack privileges */
};

#define FEATURES_MAX 24
/* As many open files a recording should be allowed. */
#define FILES_WANTED 4096

/* Probes everything, by trying wherever that is possible; returns the number of rows. */
size_t features_probe(struct feature *features, size_t max);
/*
 * The first row that is FEATURE_MISSING becomes err's text and hint; 0 where there is none. For a
 * recording that could not start: the same diagnosis as `prof check`.
 */
int features_explain(struct error *err);
/*
 * Why the kernel's functions have no names, as `prof check` says it; 0 where the machine lets this
 * process see their addresses.
 */
int features_explain_kernel_names(struct error *err);

#endif

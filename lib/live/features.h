/* SPDX-License-Identifier: MIT */
/*
 * Reports whether this machine can record: one row per requirement, with the one command that fixes
 * it.
 */
#pragma once

#include "lib/base/base.h"

enum feature_status {
	FEATURE_OK,
	FEATURE_NOTE, /* works with limits, which `detail` states */
	FEATURE_MISSING, /* cannot record */
};

struct feature {
	const char *name; /* "kernel", "btf", "bpf", "perf_event_paranoid", "capabilities", … */
	enum feature_status status;
	char detail[320]; /* findings */
	char hint[256]; /* command that fixes the problem, or "" */
	bool wants_privilege; /* the hint is shared by all rows that lack privileges */
};

#define FEATURES_MAX 24
/* Recommended minimum limit of open files for a recording. */
#define FILES_WANTED 4096

/* Probes everything, by trying where possible. Returns the number of rows. */
size_t features_probe(struct feature *features, size_t max);
/*
 * Copies text and hint of the first FEATURE_MISSING row to err; returns 0 if none. Gives a
 * recording that could not start the diagnosis of `prof check`.
 */
int features_explain(struct error *err);
/*
 * Explains why kernel functions have no names, in the words of `prof check`; returns 0 if this
 * process can see their addresses.
 */
int features_explain_kernel_symbols(struct error *err);
/*
 * Likewise explains why only a container's processes are visible; returns 0 if all of the machine's
 * are.
 */
int features_explain_processes(struct error *err);

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

/* Shared by the probes of lib/live/features.h. Private to features*.c. */

/* Facts that several probes need. */
struct machine {
	uint64_t capabilities;
	int64_t paranoid; /* value of the sysctl; -2: no such file */
	uint32_t cpu; /* an online CPU */
	int perf_code; /* result of a trial perf_event_open(): 0 or a negative errno */
};

void feature_set(struct feature *f, enum feature_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void feature_hint(struct feature *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The hint for kernels that cannot provide memory. */
#define HINT_MEMORY "stop other programs, or give prof's control group more memory"

/* Sets the hint on how to gain the missing privileges. */
void feature_hint_privilege(struct feature *f);
/*
 * Sets the hint and returns true if the error of bpf() or perf_event_open() came from a seccomp
 * filter: this process has one, and the kernel has the call and would allow it.
 */
bool feature_hint_seccomp(const struct machine *m, struct feature *f, int code);

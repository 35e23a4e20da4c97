/* SPDX-License-Identifier: MIT */
/* Shared by the probes of lib/live/features.h. Private to features*.c. */
#pragma once

#include "lib/live/features.h"

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

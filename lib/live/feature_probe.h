/* SPDX-License-Identifier: MIT */
/* What the probes behind lib/live/features.h share. Of the features*.c alone. */
#ifndef PROF_LIB_LIVE_FEATURE_PROBE_H
#define PROF_LIB_LIVE_FEATURE_PROBE_H

#include <stdint.h>

#include "lib/live/features.h"

/* What several rows need to know. */
struct machine {
	uint64_t capabilities;
	int64_t paranoid; /* -2: there is no such file */
	uint32_t cpu; /* one that is online */
	int perf_code; /* of a trial of perf_event_open(): 0 or a negative errno */
};

void feature_set(struct feature *f, enum feature_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void feature_hint(struct feature *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* features_privileges.c */
uint64_t machine_read_capabilities(void);
bool machine_has_capability(const struct machine *m, unsigned int capability);
/* How to become more privileged than this process is. */
void feature_hint_privilege(struct feature *f);
void feature_probe_capabilities(struct machine *m, struct feature *f);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Counters of the whole machine, from files of the kernel: CPU time by class, memory, bytes of the
 * network, energy; and the time for which a control group was kept from running.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_COUNTERS_MACHINE_COUNTERS_H
#define PROF_LIB_LIVE_INSTRUMENTS_COUNTERS_MACHINE_COUNTERS_H

#include "lib/live/instruments/counters/counter_values.h"

struct machine_counters;

/* Opens what there is. The control group is that of the calling process. */
struct machine_counters *machine_counters_open(void);
/* Accepts NULL. */
void machine_counters_free(struct machine_counters *m);
void machine_counters_read(struct machine_counters *m, struct counter_values *t, uint64_t now);

#endif

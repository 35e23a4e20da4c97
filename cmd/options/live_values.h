/* SPDX-License-Identifier: MIT */
/*
 * Values that options can have on this machine now, for completion in shells. Each list ends with
 * NULL, is made at the first call, and lives until the program ends. A value may have a description
 * after a tab.
 */
#ifndef PROF_CMD_OPTIONS_LIVE_VALUES_H
#define PROF_CMD_OPTIONS_LIVE_VALUES_H

/* Pids, described by the names of the processes. */
const char *const *live_pids(void);
/* Names of processes, each once. */
const char *const *live_names(void);
/* Names of users. */
const char *const *live_users(void);
/* Control groups, relative to where they are mounted; at most 10,000. */
const char *const *live_groups(void);
/* Services of systemd that have a control group. */
const char *const *live_units(void);
/* Pids of running recorders. */
const char *const *live_recorders(void);
/* An empty list. */
const char *const *live_nothing(void);

#endif

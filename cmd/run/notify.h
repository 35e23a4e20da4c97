/* SPDX-License-Identifier: MIT */
/* Tells systemd how a service is, see sd_notify(3). */
#ifndef PROF_CMD_RUN_NOTIFY_H
#define PROF_CMD_RUN_NOTIFY_H

/* "READY=1". Nothing happens if nobody asks. */
void notify(const char *state);

#endif

/* SPDX-License-Identifier: MIT */
/* Leaves a process that talks to the network only the system calls that this takes. */
#ifndef PROF_CMD_NET_CONFINE_H
#define PROF_CMD_NET_CONFINE_H

#include "lib/base/error.h"

/*
 * Refuses all others from now on, for all threads, as if the kernel did not have them. Call after
 * drop_new_privileges(). -ENOSYS: this kernel has no filters.
 */
int confine(struct error *err);

#endif

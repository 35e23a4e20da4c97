/* SPDX-License-Identifier: MIT */
/* The users whose processes have frames in each module. */
#ifndef PROF_LIB_SESSION_MODULE_USERS_H
#define PROF_LIB_SESSION_MODULE_USERS_H

#include "lib/session/tasks.h"

/*
 * Fills in the users of all modules but those of the kernel. Called once all samples are in the
 * rows of their threads, while ids of threads still hold.
 */
void module_users_find(struct tasks *t);

#endif

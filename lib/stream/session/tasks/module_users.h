/* SPDX-License-Identifier: MIT */
/* Users whose processes have frames in a module. */
#ifndef PROF_LIB_STREAM_SESSION_TASKS_MODULE_USERS_H
#define PROF_LIB_STREAM_SESSION_TASKS_MODULE_USERS_H

#include "lib/stream/session/tasks/tasks.h"

/*
 * Fills in the users of all modules except the kernel's. Call once all samples are in the rows of
 * their threads, while thread ids are still valid.
 */
void module_users_find(struct tasks *t);

#endif

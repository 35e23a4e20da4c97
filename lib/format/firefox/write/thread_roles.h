/* SPDX-License-Identifier: MIT */
/*
 * Names threads by what they do. Threads get their process's name from the kernel unless they are
 * given another; the first function of their own in most of their stacks says more.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_THREAD_ROLES_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_THREAD_ROLES_H

#include "lib/model/tables/profile.h"

struct stack_role;

/* Zeroed is empty. */
struct thread_roles {
	struct stack_role *by_stack; /* by stack_id of the profile */
};

/* Reads the stacks once. Uses only what is in the profile, so the result may be shared with it. */
void thread_roles_init(struct thread_roles *roles, const struct profile *p);
void thread_roles_release(struct thread_roles *roles);
/*
 * Returns the thread's role, "worker" or "libuv worker", borrowed from the profile or static; NULL
 * if it is unknown.
 */
const char *thread_role(const struct thread_roles *roles, const struct profile *p,
			const struct profile_thread *thread);

#endif

/* SPDX-License-Identifier: MIT */
/* The environment of a command that root runs for another user. */
#ifndef PROF_LIB_LIVE_MACHINE_USER_ENV_H
#define PROF_LIB_LIVE_MACHINE_USER_ENV_H

#include <sys/types.h>

/*
 * Returns the environment sudo was called with, if `uid` called it and it started this process
 * itself. NULL if not, or if it is unreadable.
 */
char **user_env_of_caller(uid_t uid);
/*
 * Returns the caller's environment plus the variables that only `own`, this process's, has: those
 * that sudo was told to keep or set. PATH, SHELL and MAIL, which sudo replaces, stay the caller's.
 */
char **user_env_merge(char *const *caller, char *const *own);
/*
 * Returns a copy of `env` with HOME, USER and LOGNAME of the user (unless NULL) and without sudo's
 * variables, which would tell the command that it is root's. NULL-terminated.
 */
char **user_env_new(char *const *env, const char *user, const char *home);
void user_env_free(char **env);

#endif

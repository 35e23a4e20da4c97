/* SPDX-License-Identifier: MIT */
/* The environment of a command that is run for another user than the one who is root for it. */
#ifndef PROF_LIB_LIVE_MACHINE_USER_ENV_H
#define PROF_LIB_LIVE_MACHINE_USER_ENV_H

#include <sys/types.h>

/*
 * What sudo was called with, where that user called it and it started this process itself. NULL
 * where there is no such thing, or where it cannot be read.
 */
char **user_env_of_caller(uid_t uid);
/*
 * The caller's environment with what `own`, this process's, has besides: variables that sudo was
 * told to keep or to set. PATH, SHELL and MAIL, which sudo replaces, stay the caller's.
 */
char **user_env_merge(char *const *caller, char *const *own);
/*
 * A copy of `env` with HOME, USER and LOGNAME of that user (where not NULL) and without sudo's own
 * variables, which would tell the command that it is root's. NULL-terminated.
 */
char **user_env_new(char *const *env, const char *user, const char *home);
void user_env_free(char **env);

#endif

/* SPDX-License-Identifier: MIT */
/* The environment of a command that is run for another user than the one who is root for it. */
#ifndef PROF_LIB_LIVE_USER_ENV_H
#define PROF_LIB_LIVE_USER_ENV_H

/*
 * A copy of `env` with HOME, USER and LOGNAME of that user (where not NULL) and without sudo's own
 * variables, which would tell the command that it is root's. NULL-terminated.
 */
char **user_env_new(char *const *env, const char *user, const char *home);
void user_env_free(char **env);

#endif

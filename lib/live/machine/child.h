/* SPDX-License-Identifier: MIT */
/*
 * The command to record: forked at once, so that its pid is known, but executed only on request. It
 * keeps terminal, standard input, environment and working directory. Call child_new() before
 * anything changes this process's limits (recorder_new() raises that of open files), so that the
 * command has the limits with which prof was started.
 */
#pragma once

#include <signal.h>

#include "lib/base/identity.h"

/* The environment of a command that root runs for another user. */

/*
 * Returns the environment with which sudo was called, if `uid` called it and it started this
 * process itself. Otherwise, or if it is unreadable, returns NULL.
 */
char **user_env_of_caller(uid_t uid);
/*
 * Returns the caller's environment plus the variables that only `own`, this process's, has: those
 * that sudo is configured to keep or set. PATH, SHELL and MAIL, which sudo replaces, remain the
 * caller's.
 */
char **user_env_merge(char *const *caller, char *const *own);
/*
 * Returns a copy of `env` with HOME, USER and LOGNAME of the user (unless NULL) and without sudo's
 * variables, which would reveal to the command that root runs it. NULL-terminated.
 */
char **user_env_new(char *const *env, const char *user, const char *home);
void user_env_free(char **env);

struct child;

struct child_options {
	char *const *argv; /* NULL-terminated, looked up in PATH; borrowed until child_free() */
	struct identity identity; /* user to run the command as; ignored if is_self */
	bool keep_capabilities; /* do not drop inherited (ambient) capabilities */
	/*
	 * Borrowed; NULL: none. A library to load first, if the user may read it, and a variable to
	 * set.
	 */
	const char *preload, *variable;
	int stdout_fd; /* >= 0: used as standard output of the command */
	/* Signal state with which prof was started; restored for the command. */
	sigset_t signal_mask;
	sigset_t ignored_signals; /* all other signals get their default disposition */
};

/*
 * Another process that started the command and reaps it. fd() is readable when the state may have
 * changed; execute() and has_ended() behave like child_execute() and child_poll().
 */
struct child_keeper {
	void *ctx;
	int (*fd)(void *ctx);
	int (*execute)(void *ctx, struct error *err);
	bool (*has_ended)(void *ctx, int *wait_status, uint64_t *cpu_ns);
};

enum child_result {
	CHILD_RUNNING,
	CHILD_EXITED,
};

/*
 * Forks. The child waits, and exits if prof dies meanwhile. Under sudo, it becomes the invoking
 * user: supplementary groups, gid, uid, HOME, USER and LOGNAME from the user database, and no
 * capabilities. If sudo itself started prof, the environment is the one with which sudo was called,
 * and its PATH is searched for the command.
 */
int child_new(struct child **out, const struct child_options *options, struct error *err);
/* Makes a child of a command that waits in another process. Takes over pidfd. */
struct child *child_adopt(pid_t pid, int pidfd, const struct child_keeper *keeper);
pid_t child_pid(const struct child *c);
/*
 * Returns a descriptor that is readable when the child may have ended: call child_poll(), which may
 * replace the descriptor.
 */
int child_fd(const struct child *c);
/*
 * Executes the command and waits for the exec. Returns -ENOENT (exit status 127) or another errno
 * (126) on failure, with the message that a shell prints ("foo: command not found"). Also returns 0
 * if the child was killed before its exec: see child_poll().
 */
int child_execute(struct child *c, struct error *err);
/* Reaps the child if it has ended; *wait_status as from wait(2). */
enum child_result child_poll(struct child *c, int *wait_status);
/*
 * Returns the CPU time of a reaped child since its exec, including descendants that were waited
 * for; for an adopted child, as reported by its keeper.
 */
uint64_t child_cpu_ns(const struct child *c);
/* Sends a signal. Returns 0 or a negative errno; -ESRCH once the child has been reaped. */
int child_kill(struct child *c, int signal);
/* Kills and reaps a child that was never executed; leaves a running or adopted one alone. */
void child_free(struct child *c);

/* SPDX-License-Identifier: MIT */
/*
 * The command to record: forked at once, so that its pid is known, executed only when told to. It
 * keeps terminal, standard input, environment and working directory.
 */
#ifndef PROF_LIB_LIVE_CHILD_H
#define PROF_LIB_LIVE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"

struct child;

struct child_options {
	char *const *argv; /* NULL-terminated, looked up in PATH */
	struct identity identity; /* run as this user; ignored where is_self */
	int stdout_fd; /* >= 0: becomes its standard output */
	sigset_t signal_mask; /* what it gets back: mask … */
	bool ignore_sigint; /* … and the dispositions that prof inherited */
	bool ignore_sigterm;
};

enum child_result {
	CHILD_RUNNING,
	CHILD_EXITED,
};

/*
 * Forks; the child waits. Under sudo it becomes the invoking user: supplementary groups, gid, uid,
 * HOME, USER and LOGNAME from the user database, PATH kept, no capability left.
 */
int child_new(struct child **out, const struct child_options *options, struct error *err);
pid_t child_pid(const struct child *c);
/* Readable when the child has ended. */
int child_pidfd(const struct child *c);
/*
 * Lets it execute and waits until it has. Fails with -ENOENT (exit 127) or another errno (126); the
 * text is what a shell would say ("foo: command not found").
 */
int child_execute(struct child *c, struct error *err);
/* Collects it where it has ended; *wait_status as wait(2) has it. */
enum child_result child_poll(struct child *c, int *wait_status);
int child_kill(struct child *c, int signal);
/* A child that was never executed is killed and collected; one that runs is left alone. */
void child_free(struct child *c);

#endif

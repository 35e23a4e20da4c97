/* SPDX-License-Identifier: MIT */
/*
 * The command to record: forked at once, so that its pid is known, executed only when told to. It
 * keeps terminal, standard input, environment and working directory. Call child_new() before
 * anything that changes limits of this process (recorder_new() raises that of open files): the
 * command then has the limits that prof was started with.
 */
#ifndef PROF_LIB_LIVE_MACHINE_CHILD_H
#define PROF_LIB_LIVE_MACHINE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/identity.h"

struct child;

struct child_options {
	char *const *argv; /* NULL-terminated, looked up in PATH; borrowed until child_free() */
	struct identity identity; /* run as this user; ignored where is_self */
	bool keep_capabilities; /* do not drop what it would inherit (ambient capabilities) */
	int stdout_fd; /* >= 0: becomes its standard output */
	/* What prof itself was started with, and the command gets back. */
	sigset_t signal_mask;
	sigset_t ignored_signals; /* all others get their default disposition */
};

/*
 * A process that started the command in place of this one, and collects it. fd() is readable when
 * there may be news; execute() and has_ended() are as child_execute() and child_poll().
 */
struct child_keeper {
	void *ctx;
	int (*fd)(void *ctx);
	int (*execute)(void *ctx, struct error *err);
	bool (*has_ended)(void *ctx, int *wait_status);
};

enum child_result {
	CHILD_RUNNING,
	CHILD_EXITED,
};

/*
 * Forks; the child waits, and goes away should prof die meanwhile. Under sudo it becomes the
 * invoking user: supplementary groups, gid, uid, HOME, USER and LOGNAME from the user database, no
 * capability left. Where sudo itself started prof, the environment is that which sudo was called
 * with: its PATH is where the command is looked for.
 */
int child_new(struct child **out, const struct child_options *options, struct error *err);
/* A command that waits elsewhere. pidfd is taken over; */
struct child *child_adopt(pid_t pid, int pidfd, const struct child_keeper *keeper);
pid_t child_pid(const struct child *c);
/* Readable when the child may have ended: ask child_poll(). May be another after each of those. */
int child_fd(const struct child *c);
/*
 * Lets it execute and waits until it has. Fails with -ENOENT (exit 127) or another errno (126); the
 * text is what a shell would say ("foo: command not found"). A child that was killed before it
 * could is no failure: child_poll() tells.
 */
int child_execute(struct child *c, struct error *err);
/* Collects it where it has ended; *wait_status as wait(2) has it. */
enum child_result child_poll(struct child *c, int *wait_status);
/* 0 or a negative errno; -ESRCH once it was collected. */
int child_kill(struct child *c, int signal);
/*
 * A child that was never executed is killed and collected; one that runs, or was adopted, is left
 * alone.
 */
void child_free(struct child *c);

#endif

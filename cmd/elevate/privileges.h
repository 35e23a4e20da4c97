/* SPDX-License-Identifier: MIT */
/* Privileges that the recorder keeps. See capabilities(7). */
#pragma once

#include "cmd/elevate/elevation.h"
#include "lib/base/base.h"

/*
 * True if all capabilities needed for recording are missing. Root is assumed to have them. If
 * prof's file has only some of them, a later message names the missing ones.
 */
bool privileges_are_missing(void);
/*
 * Drops, for good, every capability not needed for recording, and those that an executed program
 * would inherit. Capabilities are per thread: call while there is only one, after forking the
 * command, which may keep more. writes_as_root: root may write the output, and sudo was not used.
 */
int privileges_reduce(bool writes_as_root, struct error *err);

/* Drops privileges, which a program that serves browsers and uses the network does not need. */

/*
 * Becomes the invoking user for good, with the user's groups and home, and drops all capabilities,
 * even for root without sudo. Call while there is one thread.
 */
int drop_privileges(struct error *err);
/*
 * Sets no_new_privs: programs started from now on gain no privileges, whatever their files' modes.
 */
int drop_new_privileges(struct error *err);

/*
 * Starts a program as root through sudo, without taking the terminal from another process. See
 * sudo(8).
 */

struct sudo {
	pid_t pid; /* 0: not running */
	int pidfd; /* readable once sudo has ended; -1: none */
	int socket; /* socket connected to the standard input of the program; -1: none */
	int errors; /* pipe from standard error of sudo and the program; -1: none */
};

/* True if sudo is in PATH. */
bool sudo_is_installed(void);
/* True if programs started by this process cannot gain privileges: no_new_privs. */
bool sudo_is_powerless(void);
/*
 * Runs argv (NULL-terminated, argv[0] an absolute path) with `sudo -n`, which never prompts, in a
 * background process group. Standard output is /dev/null.
 */
int sudo_start(struct sudo *s, char *const *argv, const struct signals *signals, struct error *err);
/* Lets sudo prompt for the password in the foreground. False if authentication failed. */
bool sudo_authenticate(const struct signals *signals);
/* Stores the last line written to standard error so far; "" if there is none. */
void sudo_last_words(const struct sudo *s, char *line, size_t size);
/* Waits for sudo to end. Returns the wait status. */
int sudo_wait(struct sudo *s);
/* Closes the descriptors. Does not stop a running sudo. */
void sudo_release(struct sudo *s);

/* SPDX-License-Identifier: MIT */
/*
 * Starts a program as root through sudo, without taking the terminal from another process. See
 * sudo(8).
 */
#pragma once

#include "cmd/elevate/elevate_signals.h"

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

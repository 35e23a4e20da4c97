/* SPDX-License-Identifier: MIT */
/* Starts a program as root through sudo, without taking the terminal from anybody. See sudo(8). */
#ifndef PROF_CMD_RUN_SUDO_H
#define PROF_CMD_RUN_SUDO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cmd/run/signals.h"
#include "lib/base/error.h"

struct sudo {
	pid_t pid; /* 0: none */
	int pidfd; /* readable when sudo has ended; -1: none */
	int socket; /* to the program's standard input; -1: none */
	int errors; /* what sudo and the program say on standard error; -1: none */
};

/* Is there such a command in PATH? */
bool sudo_is_installed(void);
/*
 * Runs argv (NULL-terminated, argv[0] an absolute path) by `sudo -n`, which asks for nothing, in a
 * process group in the background. Standard output is /dev/null.
 */
int sudo_start(struct sudo *s, char *const *argv, const struct signals *signals, struct error *err);
/* Has sudo ask for the password, in the foreground. False: it was refused. */
bool sudo_authenticate(const struct signals *signals);
/* The last line on standard error so far; "" where there is none. */
void sudo_last_words(const struct sudo *s, char *line, size_t size);
/* Waits for its end. The wait status. */
int sudo_wait(struct sudo *s);
/* Closes; what still runs is left alone. */
void sudo_release(struct sudo *s);

#endif

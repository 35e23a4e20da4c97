/* SPDX-License-Identifier: MIT */
/* What every command of prof has in common: its row in the table, exit statuses, messages. */
#ifndef PROF_CMD_COMMAND_H
#define PROF_CMD_COMMAND_H

#include <getopt.h>

#include "lib/base/error.h"

/* Exit statuses of prof's own; the recorded command's is passed on otherwise. */
enum {
	EXIT_CANNOT_RECORD = 1, /* prof check */
	EXIT_USAGE = 2, /* the command line is wrong in itself */
	EXIT_REFUSED = 125, /* it is right, but this machine or a file refuses */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128, /* plus the signal's number */
};

struct front_end;

struct command {
	const char *name; /* "record" */
	const char *summary; /* one line for `prof --help` */
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
	/* The same as the helper of a front end; NULL: there is no such thing. */
	int (*run_for)(struct front_end *front, int argc, char **argv);
};

/* What prof runs itself as to download debug files; not for users. */
#define COMMAND_FETCH "--fetch-debug-files"

/*
 * The next option, POSIX style: they end at the first argument that is none. -1 at the end, '?'
 * with err set for one that is unknown or lacks its value. `shorts` starts with "+:"; every letter
 * in it has its row in `longs`.
 */
int options_next(int argc, char **argv, const char *shorts, const struct option *longs,
		 struct error *err);

/* "prof: text" on stderr, in one write; safe to print, whatever names are in it. */
void command_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same as "prof NAME: text", however long. */
void command_say_as(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "prof NAME: text" and the hint on stderr: at most two lines. Returns the status. */
int command_fail(const char *name, int status, const struct error *err);
/* The same for a wrong command line, pointing to --help. Returns EXIT_USAGE. */
int command_fail_usage(const char *name, const struct error *err);

#endif

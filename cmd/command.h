/* SPDX-License-Identifier: MIT */
/* Shared by all commands of prof: the row in the table, exit statuses, messages. */
#pragma once

#include "cmd/options/option_table.h"

/* Exit statuses of prof itself; otherwise prof exits with that of the recorded command. */
enum {
	EXIT_CANNOT_RECORD = 1, /* status of prof check */
	EXIT_NOT_SANITIZED = 1, /* status of --check-sanitized */
	EXIT_USAGE = 2, /* wrong command line */
	/* the command line is right, but the machine or a file prevents success */
	EXIT_REFUSED = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128, /* plus the signal's number */
};

struct caller;
struct defaults;

/* Adds the options of a command, whose values are stored in `ctx`. */
typedef void option_table_fn(struct option_table *t, void *ctx);

struct command {
	const char *name; /* name, such as "record" */
	const char *summary; /* one-line description for `prof --help` */
	option_table_fn *options; /* NULL: the options are defined in prof-view */
	/* argv[0] is the command's name; returns the exit status. */
	int (*run)(int argc, char **argv);
	/* Runs the command as the helper of a caller; NULL: not supported. */
	int (*run_for)(struct caller *front, int argc, char **argv);
};

/* Returns the command of that name; NULL if there is none. */
const struct command *find_command(const char *name);
/* Returns the nth command; NULL if there are no more. */
const struct command *command_at(size_t n);
/*
 * Reads the defaults of a command that apply to these words; none with --no-config. Returns -EINVAL
 * with err if a line is wrong.
 */
int config_read(struct defaults *d, const struct command *command, int argc, char **argv,
		struct error *err);

/*
 * The take() of a command with one operand: sets the const char * at that address. Returns -EINVAL
 * with err if it is set already or the operand is empty.
 */
int command_take_file(void *at, const char *operand, struct error *err);

/*
 * Parses options and operands and applies the rules. Without take() in the table, optind is at the
 * first operand afterwards. Returns -ECANCELED if --help was printed, -EINVAL with err if the
 * command line is wrong.
 */
int command_parse(int argc, char **argv, option_table_fn *options, void *ctx, struct error *err);

/*
 * Prints the completions of the last word of a command with these options, for shells. Prints
 * nothing if the word is a file name.
 */
void command_complete(option_table_fn *options, int count, char **words);
/* The hidden command for completion: prof __complete COMMAND WORD... */
#define COMMAND_COMPLETE "__complete"

/* Writes "prof: text" to stderr in one write. Makes names in it safe to print. */
void command_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Writes "prof NAME: text" in the same way, without a length limit. */
void command_say_as(const char *name, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Writes "wrote FILE (SIZE)" followed by `more`. FILE "-": standard output. */
void command_say_written(const char *path, uint64_t bytes, const char *more);
/* Writes "prof NAME: text" and the hint to stderr: at most two lines. Returns the status. */
int command_fail(const char *name, int status, const struct error *err);
/*
 * Reports a wrong command line in the same way, pointing to --help. Returns EXIT_USAGE; 0 without
 * an error, when --help was printed.
 */
int command_fail_usage(const char *name, const struct error *err);

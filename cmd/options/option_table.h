/* SPDX-License-Identifier: MIT */
/* Options as tables of rows, and corrections of words that no option or command has. */
#pragma once

#include <getopt.h>

#include "lib/base/base.h"
#include "lib/base/option_value.h"

/*
 * Suggests corrections of unknown words on the command line: typing mistakes, or words of perf(1).
 */

/* Sets err for an unknown command, with a suggestion if possible. */
void hint_unknown_command(struct error *err, const char *word, const char *const *names,
			  size_t count);
/*
 * Does the same for an option: `letter` if nonzero, else `word` as typed ("--name",
 * "--name=value").
 */
void hint_unknown_option(struct error *err, int letter, const char *word,
			 const struct option *longs);

/*
 * Options as tables: a row contains an option's name, its help text, the type of its value and the
 * place to store it. Parsing, help, checks for missing or empty values, and completion are derived
 * from it.
 */

/* Default name of profiles, for those that write and read them. */
#define PROFILE_PATH "profile.json.gz"

enum option_type {
	OPTION_HEADING, /* not an option, only help text */
	OPTION_FLAG, /* bool */
	OPTION_COUNTED, /* unsigned int: number of times the option was given */
	OPTION_TEXT, /* const char *, borrowed */
	OPTION_WORD, /* const char *, borrowed, not empty */
	OPTION_NAME, /* like OPTION_WORD, for a file or folder */
	OPTION_TIME, /* uint64_t in ns; `unit_ns` is the length of the unit */
	OPTION_SIZE, /* uint64_t in bytes; must be within `range` */
	OPTION_CHOICE, /* int: index of `choices` */
	OPTION_SHARE, /* double: "0.5" and "0.5%" are 0.005 */
	/* integer of `size` bytes; `range` is the message "must be a number from 1 to 5" */
	OPTION_NUMBER,
	OPTION_CALL, /* calls `set` with the address and the value; NULL: no value */
	OPTION_HELP, /* shows the help */
};

typedef int option_set_fn(void *at, const char *value, struct error *err);

struct option_row {
	char letter; /* 0: none */
	const char *name; /* without dashes; NULL: a heading */
	const char *argument; /* "FILE"; "[=MS]": optional; NULL: the option takes no value */
	const char *help; /* help lines; "@" is replaced by the choices; NULL: not in the help */
	enum option_type type;
	size_t offset, size; /* position of the value in the struct of the group */
	size_t given; /* offset of a bool to set if the option is given; 0: none */
	double unit_ns;
	const struct size_range *range;
	const char *const *choices; /* NULL-terminated; other types: for help and completion */
	const char *const *(*list)(void); /* choices that are not constant */
	/* Possible values on this machine, for completion only: see live_options.h. */
	const char *const *(*live)(void);
	option_set_fn *set;
	/*
	 * is_plain: a caller's defaults may set it in a process with more rights, because it names
	 * no file, descriptor or command, and discloses nothing. Options of plain types that store
	 * a value are plain unless `is_guarded`.
	 */
	bool is_plain, is_guarded;
};

/* Initializes the location of a row's value. */
#define OPTION_AT(s, member) \
	.offset = offsetof(struct s, member), .size = sizeof(((struct s *)0)->member)
/* Initializes the location of the bool to set if the option is given. */
#define OPTION_GIVEN(s, member) .given = offsetof(struct s, member)

/*
 * Rejects `option` together with any of `with`, or without all of `without`: names separated by
 * spaces, or NULL. In the text, "@" is replaced by "not with --a, --b or --c" or "needs --a"; NULL:
 * "--option: @".
 */
struct option_rule {
	const char *option, *with, *without, *text;
};

/* A zeroed struct is empty. */
struct option_table {
	VEC(struct {
		struct option_row row;
		void *target; /* struct of the group */
		bool is_given;
	})
	rows;
	VEC(const struct option_rule *) rules;
	const char *usage, *after; /* text before and after the options */
	int width; /* width of names in the help; 0: the default */
	/*
	 * Handles an operand; options may follow. NULL: options end at the first operand, as in
	 * POSIX.
	 */
	int (*take)(void *ctx, const char *operand, struct error *err);
	const char **file; /* passed to take() in place of the command's struct; NULL: that */
	bool divides; /* take() also receives the first "--" and everything after it */
	bool runs; /* the operands are a command with its arguments */
	const char *const *(*operands)(void); /* operands for completion; NULL: files */
	/* For getopt_long(), built on demand. */
	VEC(struct option) longs;
	struct strbuf shorts;
};

void option_table_release(struct option_table *t);

static inline void option_table_release_cleanup(struct option_table *t)
{
	option_table_release(t);
}

/*
 * Adds copies of rows, up to a zeroed one, and borrows their strings. Values are stored in
 * `target`.
 */
void option_table_add(struct option_table *t, const struct option_row *rows, void *target);
/* Adds rules, up to a zeroed one. The rules are borrowed. */
void option_table_add_rules(struct option_table *t, const struct option_rule *rules);
/* Adds a copy of one row, whose strings are borrowed. */
void option_table_add_row(struct option_table *t, const struct option_row *row, void *target);

/*
 * Parses the next option, if optind is at one. Returns 1; 0 at another argument or the end;
 * -ECANCELED if the help was printed; -EINVAL with err if the option is wrong.
 */
int option_table_next(struct option_table *t, int argc, char **argv, struct error *err);
/* Returns the row of that option; NULL if there is none. */
const struct option_row *option_table_find(const struct option_table *t, const char *name);
/* True if a caller's defaults may set the option: see struct option_row. */
bool option_is_plain(const struct option_row *row);
/*
 * Calls fn for each option in the words without setting any, and marks it as given. *taken is the
 * number of words before the first that is not an option. Returns 0, the value returned by fn, or
 * -EINVAL with err.
 */
typedef int option_scan_fn(void *ctx, const struct option_row *row, const char *value);
int option_table_scan(struct option_table *t, int argc, char **argv, option_scan_fn *fn, void *ctx,
		      int *taken, struct error *err);
/* Marks the option as given. */
void option_table_give(struct option_table *t, const char *name);
/* True if a rule makes the two options conflict. */
bool option_table_excludes(const struct option_table *t, const char *one, const char *other);
/* True if the option requires another one that was not given. */
bool option_table_lacks(const struct option_table *t, const char *name);
/* True if one of these options was given: names separated by spaces. */
bool option_table_has(const struct option_table *t, const char *names);
/* Applies the rules to the given options. Returns 0, or -EINVAL for the first broken rule. */
int option_table_judge(const struct option_table *t, struct error *err);

/* Appends the help. */
void option_table_help(const struct option_table *t, struct strbuf *out);
/*
 * Appends completions of the last word, one per line, with an optional
 * description after a tab. A last line ":files", ":folders" or ":command N" means that the word is
 * the name of a file, of a folder, or belongs to the command that begins with words[N]. `words`
 * follow the name of prof's command; there is at least one.
 */
void option_table_complete(const struct option_table *t, int count, char *const *words,
			   struct strbuf *out);

/* The row of --help, which ends a group. */
extern const struct option_row option_help[];
/* The same after the row of --no-config, for commands that have defaults. */
extern const struct option_row option_common[];
